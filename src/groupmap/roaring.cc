// roaring: an ordered group as a Roaring bitmap (CRoaring).
//
//   65,536 ranks a container; each an array of 16-bit numbers, a bitmap of 8 KB or a list of
//   runs, whichever is smallest
//
// When it wins: groups that are dense here and sparse there; set algebra on large sets, which
// CRoaring does container by container. Costs: 2 bytes a member in a sparse container, 4 a run, 8
// KB at most; select and rank first walk the containers (16 of them for a million ranks).
//
// The wire form is Roaring's portable format. read() checks all of it before CRoaring reads it,
// since the installed CRoaring does not check the contents of containers.

#include <algorithm>
#include <cstring>

#include "groupmap/bits.h"
#include "groupmap/codec.h"
#include "groupmap/roaring_map.h"

namespace fgmpi::groupmap {
namespace {

uint32_t load16(std::span<const uint8_t> bytes, size_t at) {
  return bytes[at] | static_cast<uint32_t>(bytes[at + 1]) << 8;
}

uint32_t load32(std::span<const uint8_t> bytes, size_t at) {
  return load16(bytes, at) | load16(bytes, at + 2) << 16;
}

constexpr uint32_t kCookieRuns = 12347, kCookieNoRuns = 12346;

/// Checks the container's body at the head of `bytes`. Returns its length in bytes, or 0 when it is
/// malformed.
size_t check_container(std::span<const uint8_t> bytes, bool runs, uint32_t cardinality) {
  if (runs) {
    if (bytes.size() < 2) return 0;
    uint32_t count = load16(bytes, 0), total = 0;
    if (bytes.size() < 2 + 4 * size_t{count}) return 0;
    int64_t last = -2;
    for (uint32_t k = 0; k < count; ++k) {
      uint32_t start = load16(bytes, 2 + 4 * k), more = load16(bytes, 4 + 4 * k);
      if (start <= last + 1 || start + more > 0xffff) return 0;
      last = start + more;
      total += more + 1;
    }
    return total == cardinality ? 2 + 4 * size_t{count} : 0;
  }
  if (cardinality <= 4096) {
    if (bytes.size() < 2 * size_t{cardinality}) return 0;
    for (uint32_t k = 1; k < cardinality; ++k)
      if (load16(bytes, 2 * k) <= load16(bytes, 2 * k - 2)) return 0;
    return 2 * size_t{cardinality};
  }
  if (bytes.size() < 8192) return 0;
  uint32_t ones = 0;
  for (size_t at = 0; at < 8192; at += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    ones += static_cast<uint32_t>(popcount(word));
  }
  return ones == cardinality ? 8192 : 0;
}

/// True where `bytes` are exactly one well-formed bitmap of `size` members in the portable format.
bool check_portable(std::span<const uint8_t> bytes, uint64_t size) {
  if (bytes.size() < 8) return false;
  uint32_t cookie = load32(bytes, 0);
  bool has_runs = (cookie & 0xffff) == kCookieRuns;
  if (!has_runs && cookie != kCookieNoRuns) return false;
  uint32_t count = has_runs ? (cookie >> 16) + 1 : load32(bytes, 4);
  if (count > 65536) return false;
  size_t flags = 4, keys = has_runs ? 4 + (count + 7) / 8 : 8;
  size_t body = keys + 4 * size_t{count};
  if (!has_runs || count >= 4) body += 4 * size_t{count};
  if (bytes.size() < body) return false;
  uint64_t total = 0;
  int64_t last_key = -1;
  size_t at = body;
  for (uint32_t k = 0; k < count; ++k) {
    uint32_t key = load16(bytes, keys + 4 * k), cardinality = load16(bytes, keys + 4 * k + 2) + 1;
    bool runs = has_runs && (bytes[flags + k / 8] >> (k % 8) & 1);
    if (key <= last_key || key > 0x7fff) return false;
    last_key = key;
    size_t length = check_container(bytes.subspan(at), runs, cardinality);
    if (length == 0) return false;
    // CRoaring may use the offsets, where the bitmap has them, so each must be right.
    if (body > keys + 4 * size_t{count} && load32(bytes, keys + 4 * size_t{count} + 4 * k) != at)
      return false;
    at += length;
    total += cardinality;
  }
  return at == bytes.size() && total == size;
}

std::optional<Cost> estimate_roaring(const Stats& stats) {
  if (!stats.ordered) return std::nullopt;
  // A container takes the least of 2 bytes a member, 4 bytes a run and 8 KB. The estimate applies
  // that to all containers together.
  double body =
      std::min({2.0 * stats.size, 4.0 * stats.unit_runs + 2 * stats.chunks, 8192.0 * stats.chunks});
  double bytes =
      sizeof(MapRef) + sizeof(RoaringMap) + sizeof(roaring_bitmap_t) + body + 32.0 * stats.chunks;
  // In a container of runs, select and rank walk over the runs.
  double runs = stats.unit_runs / std::max(1.0, static_cast<double>(stats.chunks));
  return Cost{bytes, 30 + 2 * std::min(runs, 2048.0) + 2 * memory_ns(bytes)};
}

const GroupMap* build_roaring(std::span<const int32_t> ranks, const Stats& stats,
                              std::string* why) {
  if (!stats.ordered) {
    invalid(why, "its ranks do not rise");
    return nullptr;
  }
  roaring_bitmap_t* set = roaring_bitmap_create();
  if (stats.pieces_complete) {
    for (size_t k = 0; k < stats.pieces.size(); ++k) {
      const Piece& piece = stats.pieces[k];
      uint64_t first = static_cast<uint64_t>(piece.value),
               length = static_cast<uint64_t>(stats.length(k));
      if (piece.stride == 1) roaring_bitmap_add_range(set, first, first + length);
      for (uint64_t j = 0; piece.stride != 1 && j < length; ++j)
        roaring_bitmap_add(set,
                           static_cast<uint32_t>(first + j * static_cast<uint32_t>(piece.stride)));
    }
  } else {
    static_assert(sizeof(uint32_t) == sizeof(int32_t));
    roaring_bitmap_add_many(set, ranks.size(), reinterpret_cast<const uint32_t*>(ranks.data()));
  }
  return new RoaringMap(set);
}

const GroupMap* read_roaring(ByteReader& in, int32_t size, int) {
  std::span<const uint8_t> bytes = in.bytes(static_cast<size_t>(in.varint(in.left())));
  if (in.failed() || !check_portable(bytes, static_cast<uint64_t>(size))) return nullptr;
  roaring_bitmap_t* set = roaring_bitmap_portable_deserialize_safe(
      reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return set ? new RoaringMap(set) : nullptr;
}

}  // namespace

RoaringMap::RoaringMap(roaring_bitmap_t* set)
    : GroupMap(Encoding::roaring, static_cast<int32_t>(roaring_bitmap_get_cardinality(set)), true),
      set_(set) {
  roaring_bitmap_run_optimize(set_);
  roaring_bitmap_shrink_to_fit(set_);
}

RoaringMap::~RoaringMap() { roaring_bitmap_free(set_); }

int32_t RoaringMap::select(int32_t i) const {
  uint32_t rank = 0;
  roaring_bitmap_select(set_, static_cast<uint32_t>(i), &rank);
  return static_cast<int32_t>(rank);
}

int32_t RoaringMap::rank(int32_t w) const {
  if (w < 0 || !roaring_bitmap_contains(set_, static_cast<uint32_t>(w))) return -1;
  return static_cast<int32_t>(roaring_bitmap_rank(set_, static_cast<uint32_t>(w))) - 1;
}

void RoaringMap::select_range(int32_t first, int32_t count, int32_t* out) const {
  if (count <= 0) return;
  roaring_bitmap_range_uint32_array(set_, static_cast<size_t>(first), static_cast<size_t>(count),
                                    reinterpret_cast<uint32_t*>(out));
}

size_t RoaringMap::bytes() const {
  roaring_statistics_t statistics;
  roaring_bitmap_statistics(set_, &statistics);
  // For each container its key, type and pointer, and the container's own head.
  size_t heads =
      statistics.n_containers * (sizeof(uint16_t) + sizeof(uint8_t) + sizeof(void*) + 16);
  return sizeof(*this) + sizeof(roaring_bitmap_t) + heads + statistics.n_bytes_array_containers +
         statistics.n_bytes_run_containers + statistics.n_bytes_bitset_containers;
}

bool RoaringMap::validate(std::string* reason) const {
  std::vector<uint8_t> form(roaring_bitmap_portable_size_in_bytes(set_));
  roaring_bitmap_portable_serialize(set_, reinterpret_cast<char*>(form.data()));
  return check_portable(form, static_cast<uint64_t>(size())) ||
         invalid(reason, "its containers are not sound");
}

void RoaringMap::write(ByteWriter& out) const {
  std::vector<uint8_t> form(roaring_bitmap_portable_size_in_bytes(set_));
  roaring_bitmap_portable_serialize(set_, reinterpret_cast<char*>(form.data()));
  out.varint(form.size());
  out.bytes(form.data(), form.size());
}

bool RoaringMap::combine(const GroupMap& other, SetOperation operation, MapRef* out) const {
  const roaring_bitmap_t* others = static_cast<const RoaringMap&>(other).set_;
  roaring_bitmap_t* combined = nullptr;
  switch (operation) {
    case SetOperation::kUnion:
      combined = roaring_bitmap_or(set_, others);
      break;
    case SetOperation::kIntersection:
      combined = roaring_bitmap_and(set_, others);
      break;
    case SetOperation::kDifference:
      combined = roaring_bitmap_andnot(set_, others);
      break;
  }
  *out = MapRef(new RoaringMap(combined));
  return true;
}

extern const EncodingInfo encoding_roaring = {
    Encoding::roaring, "roaring", estimate_roaring, false, build_roaring, read_roaring};

}  // namespace fgmpi::groupmap
