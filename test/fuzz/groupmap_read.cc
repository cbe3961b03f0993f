// Any bytes as the wire form of a group map, without the checksum that would refuse nearly all of
// them: what is accepted must be a map.
#include "groupmap/codec.h"

using namespace fgmpi::groupmap;

namespace {

void expect(bool condition) {
  if (!condition) __builtin_trap();
}

void check_sample(const MapRef& map, int32_t i) {
  int32_t w = map.select(i);
  expect(w >= 0);
  expect(map.rank(w) == i);
  int32_t row[8];
  int32_t count = std::min(8, map.size() - i);
  map.select_range(i, count, row);
  for (int32_t k = 0; k < count; ++k) expect(row[k] == map.select(i + k));
  if (map.ordered() && i > 0) expect(map.select(i - 1) < w);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteReader reader(std::span(data, size));
  std::string why;
  std::optional<MapRef> map = read_map(reader, &why);
  if (!map) {
    expect(!why.empty());
    return 0;
  }
  expect(map->validate(&why));
  uint32_t step = static_cast<uint32_t>(map->size()) / 64 + 1;
  for (uint32_t i = 0; i < static_cast<uint32_t>(map->size()); i += step)
    check_sample(*map, static_cast<int32_t>(i));
  if (map->size()) check_sample(*map, map->size() - 1);
  for (int32_t w : {-1, 0, 1, INT32_MAX}) {
    int32_t i = map->rank(w);
    expect(i == -1 || map->select(i) == w);
  }
  std::vector<uint8_t> bytes;
  map->serialize(bytes);
  MapRef copy;
  expect(MapRef::deserialize(bytes, &copy).ok());
  expect(copy.size() == map->size() && copy.encoding() == map->encoding());
  return 0;
}
