// The frame of a map on the wire.
//
//   'F' 'M' version=1 | encoding u8 | size varint | body (the encoding's own) | checksum u32
//                       `---------- one map; may stand within another ------'   of all before it
//
// The checksum distinguishes damage from a form of an older version. Safety does not depend on it:
// before a number is used, it is checked against the length of the remaining input and against the
// invariants of the structure.
#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "groupmap/codec.h"

namespace fgmpi::groupmap {
namespace {

constexpr uint8_t kMagic[3] = {'F', 'M', 1};

uint32_t checksum(std::span<const uint8_t> bytes) {
  return static_cast<uint32_t>(hash_bytes(bytes.data(), bytes.size()));
}

}  // namespace

void RegularMap::write(ByteWriter& out) const {
  const Regular& shape = eval.shape();
  out.u8(static_cast<uint8_t>(shape.levels));
  out.varint(static_cast<uint32_t>(shape.offset));
  for (int k = 0; k < shape.levels; ++k) {
    out.varint(shape.level[k].count);
    out.zigzag(shape.level[k].stride);
  }
}

void write_map(const MapRef& map, ByteWriter& out) {
  out.u8(static_cast<uint8_t>(map.encoding()));
  out.varint(static_cast<uint32_t>(map.size()));
  Regular shape;
  if (map.as_regular(&shape))
    RegularMap(shape).write(out);
  else
    map.stored()->write(out);
}

std::optional<MapRef> read_map(ByteReader& in, std::string* why, int depth) {
  auto refuse = [&](const char* words) {
    invalid(why, "%s", words);
    return std::nullopt;
  };
  if (depth > kMaxDepth) return refuse("maps nested too deep");
  const EncodingInfo* info = encoding_info(static_cast<Encoding>(in.u8()));
  int32_t size = static_cast<int32_t>(in.varint(INT32_MAX));
  if (in.failed() || !info) return refuse("no such encoding, or cut short");
  const GroupMap* map = info->read(in, size, depth);
  if (!map) return refuse("malformed body");
  // The handle owns the map, and deletes one that it can hold itself: the checks come first.
  bool sized = map->size() == size;
  bool valid = map->validate(why);
  MapRef handle(map);
  if (!sized) return refuse("the size does not agree with the body");
  if (!valid) return std::nullopt;
  return handle;
}

void MapRef::serialize(std::vector<uint8_t>& out) const {
  size_t start = out.size();
  ByteWriter writer(out);
  writer.bytes(kMagic, sizeof kMagic);
  write_map(*this, writer);
  uint32_t sum = checksum(std::span<const uint8_t>(out).subspan(start));
  writer.bytes(&sum, sizeof sum);
}

Status MapRef::deserialize(std::span<const uint8_t> bytes, MapRef* out) {
  if (bytes.size() < sizeof kMagic + 4 || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    return error(kErrOther, "group map of %zu bytes: not a group map of version 1", bytes.size());
  uint32_t sum;
  std::memcpy(&sum, bytes.data() + bytes.size() - 4, 4);
  if (sum != checksum(bytes.first(bytes.size() - 4)))
    return error(kErrOther, "group map of %zu bytes: damaged (checksum)", bytes.size());
  ByteReader in(bytes.subspan(sizeof kMagic, bytes.size() - sizeof kMagic - 4));
  std::string why;
  std::optional<MapRef> map = read_map(in, &why);
  if (map && in.left()) why = "bytes left over";
  if (!map || in.left())
    return error(kErrOther, "group map of %zu bytes: refused: %s", bytes.size(), why.c_str());
  *out = std::move(*map);
  return Status();
}

}  // namespace fgmpi::groupmap
