// bdd: an ordered group as the paths to true of its binary decision diagram (section 5.2 of the
// paper).
//
//   bit        19 18 17 ...  1  0
//   path 0      0  0  X ...  0  1        2 bits a node: whether it is X, and else its value
//   path 1      0  1  1 ...  X  X        in the order of a walk that takes 0 before 1
//   before     | members of paths 0..15 | ... 0..31 | ...              32 bits every 16 paths
//
// When it wins: sub-grids whose dimensions are powers of two, and other sets whose paths have many
// X. md-blockstride and piecewise are smaller for nearly all of these; but set algebra on BDDs
// needs no expansion. Costs: 2*bits + 2 bits a path; select and rank follow the tree of the paths.
// At each branch they search for the first path with a 1 by halves, and add at most 15 path sizes.
//
// Why select and rank are correct: among paths with the same bits so far, either all have X at the
// next bit, or each has 0 or 1, and those with 0 come first. So the candidate paths are always
// neighbours, and each X that is decided halves the number of members that a candidate still has.
#include "groupmap/bdd_map.h"

#include <algorithm>
#include <cmath>

#include "groupmap/codec.h"

namespace fgmpi::groupmap {
namespace {

uint32_t members(uint32_t free) { return uint32_t{1} << popcount(free); }

int bits_for(int32_t most) { return std::max(1, bit_width(static_cast<uint64_t>(most))); }

/// An upper bound on the number of paths: a range of 2^k ranks takes k aligned cubes on average,
/// and so does a stride that is a power of two.
double expected_paths(const Stats& stats) {
  if (!stats.pieces_complete) return stats.size;
  double paths = 0;
  for (size_t k = 0; k < stats.pieces.size(); ++k) {
    bool power = popcount(static_cast<uint32_t>(stats.pieces[k].stride)) == 1;
    int32_t length = stats.length(k);
    paths += power ? bit_width(static_cast<uint64_t>(length)) : length;
  }
  return paths;
}

std::optional<Cost> estimate_bdd(const Stats& stats) {
  if (!stats.ordered || stats.size == 0) return std::nullopt;
  double paths = expected_paths(stats);
  if (paths > kMaxStrategyPaths) return std::nullopt;
  double bytes = sizeof(MapRef) + sizeof(BddMap) + 24 + paths * (2 * bits_for(stats.max) + 2) / 8;
  return Cost{bytes, 40 + 20 * std::log2(paths + 1) + 2 * memory_ns(bytes)};
}

const GroupMap* build_bdd(std::span<const int32_t> ranks, const Stats& stats, std::string* why) {
  if (!stats.ordered || stats.size == 0) {
    invalid(why, stats.size ? "its ranks do not rise" : "it is empty");
    return nullptr;
  }
  std::vector<Cube> cubes;
  int bits = bits_for(stats.max);
  if (!bdd_paths(ranks, bits, kMaxBddPaths, &cubes)) {
    invalid(why, "it needs over %zu paths or %d nodes", kMaxBddPaths, kMaxBddNodes);
    return nullptr;
  }
  return new BddMap(cubes, bits);
}

const GroupMap* read_bdd(ByteReader& in, int32_t size, int) {
  int bits = static_cast<int>(in.varint(31));
  uint32_t paths = static_cast<uint32_t>(in.varint(in.left() * 8));
  PackedVector fixed = PackedVector::read(in, paths), free = PackedVector::read(in, paths);
  if (in.failed() || bits == 0 || paths == 0) return nullptr;
  std::vector<Cube> cubes(paths);
  uint64_t total = 0;
  for (uint32_t k = 0; k < paths; ++k) {
    if ((fixed[k] | free[k]) >> bits) return nullptr;
    cubes[k] = {static_cast<uint32_t>(fixed[k]), static_cast<uint32_t>(free[k])};
    total += members(cubes[k].free);
  }
  if (!BddMap::sound(cubes, bits) || total != static_cast<uint64_t>(size)) return nullptr;
  return new BddMap(cubes, bits);
}

int32_t total_members(std::span<const Cube> cubes) {
  uint32_t total = 0;
  for (const Cube& cube : cubes) total += members(cube.free);
  return static_cast<int32_t>(total);
}

}  // namespace

BddMap::BddMap(std::span<const Cube> cubes, int bits)
    : GroupMap(Encoding::bdd, total_members(cubes), true),
      bits_(bits),
      fixed_(static_cast<uint32_t>(cubes.size()), bits),
      free_(static_cast<uint32_t>(cubes.size()), bits),
      before_(std::make_unique<uint32_t[]>(cubes.size() / kSample + 1)) {
  uint32_t total = 0;
  for (uint32_t k = 0; k < cubes.size(); ++k) {
    if (k % kSample == 0) before_[k / kSample] = total;
    total += members(cubes[k].free);
    fixed_.set(k, cubes[k].fixed);
    free_.set(k, cubes[k].free);
  }
  if (cubes.size() % kSample == 0) before_[cubes.size() / kSample] = total;
}

uint32_t BddMap::members_before(uint32_t k) const {
  uint32_t total = before_[k / kSample];
  for (uint32_t j = k / kSample * kSample; j < k; ++j)
    total += members(static_cast<uint32_t>(free_[j]));
  return total;
}

uint32_t BddMap::split(uint32_t low, uint32_t high, int bit) const {
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (fixed_[middle] >> bit & 1)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

int32_t BddMap::select(int32_t i) const {
  PathLeaf leaf;
  return select(i, &leaf);
}

int32_t BddMap::select(int32_t i, PathLeaf* leaf) const {
  uint32_t low = 0, high = fixed_.size(), low_before = 0,
           high_before = static_cast<uint32_t>(size());
  uint32_t rest = static_cast<uint32_t>(i), result = 0;
  int left = bits_, passed = 0;  // bits to decide; X among those decided
  while (high - low > 1) {
    Cube first = cube(low);
    int bit = bit_width((first.fixed ^ fixed_[high - 1]) & low_mask(left)) - 1;
    // All candidate paths agree above `bit`, so every choice for their X bits there has the same
    // number of members.
    uint32_t above = static_cast<uint32_t>(low_mask(left) & ~low_mask(bit + 1));
    result |= first.fixed & above;
    if (uint32_t free = first.free & above) {
      passed += popcount(free);
      uint32_t each = (high_before - low_before) >> passed;
      result |= static_cast<uint32_t>(deposit_bits(rest / each, free));
      rest %= each;
    }
    uint32_t middle = split(low, high, bit), middle_before = members_before(middle);
    uint32_t zeros = (middle_before - low_before) >> passed;
    if (rest < zeros) {
      high = middle;
      high_before = middle_before;
    } else {
      rest -= zeros;
      result |= uint32_t{1} << bit;
      low = middle;
      low_before = middle_before;
    }
    left = bit;
  }
  *leaf = {low, left};
  Cube last = cube(low);
  uint32_t below = static_cast<uint32_t>(low_mask(left));
  return static_cast<int32_t>(result | (last.fixed & below) |
                              deposit_bits(rest, last.free & below));
}

int32_t BddMap::rank(int32_t w) const {
  if (w < 0 || static_cast<uint64_t>(w) >> bits_) return -1;
  uint32_t wanted = static_cast<uint32_t>(w), rank = 0;
  uint32_t low = 0, high = fixed_.size(), low_before = 0,
           high_before = static_cast<uint32_t>(size());
  int left = bits_, passed = 0;
  while (high - low > 1) {
    Cube first = cube(low);
    int bit = bit_width((first.fixed ^ fixed_[high - 1]) & low_mask(left)) - 1;
    uint32_t above = static_cast<uint32_t>(low_mask(left) & ~low_mask(bit + 1));
    if ((wanted ^ first.fixed) & above & ~first.free) return -1;
    if (uint32_t free = first.free & above) {
      passed += popcount(free);
      rank += static_cast<uint32_t>(extract_bits(wanted, free)) *
              ((high_before - low_before) >> passed);
    }
    uint32_t middle = split(low, high, bit), middle_before = members_before(middle);
    if (wanted >> bit & 1) {
      rank += (middle_before - low_before) >> passed;
      low = middle;
      low_before = middle_before;
    } else {
      high = middle;
      high_before = middle_before;
    }
    left = bit;
  }
  Cube last = cube(low);
  uint32_t below = static_cast<uint32_t>(low_mask(left));
  if ((wanted ^ last.fixed) & below & ~last.free) return -1;
  return static_cast<int32_t>(rank + extract_bits(wanted, last.free & below));
}

void BddMap::select_range(int32_t first, int32_t count, int32_t* out) const {
  while (count > 0) {
    // Once all bits above `left` are decided, the members on the path are consecutive in the group.
    PathLeaf leaf;
    uint32_t rank = static_cast<uint32_t>(select(first, &leaf));
    uint32_t free = static_cast<uint32_t>(cube(leaf.path).free & low_mask(leaf.left));
    uint32_t choice = rank & free, base = rank & ~free;
    for (;;) {
      *out++ = static_cast<int32_t>(base | choice);
      ++first;
      if (--count == 0 || choice == free) break;
      choice = (choice - free) & free;  // the next subset of `free`
    }
  }
}

size_t BddMap::bytes() const {
  return sizeof(*this) + fixed_.heap_bytes() + free_.heap_bytes() +
         sizeof(uint32_t) * (fixed_.size() / kSample + 1);
}

bool BddMap::validate(std::string* reason) const {
  if (!sound(cubes(), bits_)) return invalid(reason, "its paths are not those of a diagram");
  return members_before(fixed_.size()) == static_cast<uint32_t>(size()) ||
         invalid(reason, "its size is not that of its paths");
}

void BddMap::write(ByteWriter& out) const {
  out.varint(static_cast<uint64_t>(bits_));
  out.varint(fixed_.size());
  fixed_.write(out);
  free_.write(out);
}

bool BddMap::combine(const GroupMap& other, SetOperation operation, MapRef* out) const {
  const auto& second = static_cast<const BddMap&>(other);
  // Paths over fewer bits are also paths over more bits, with zeros in front.
  const int bits = std::max(bits_, second.bits_);
  std::vector<Cube> combined;
  if (!bdd_combine(cubes(), second.cubes(), bits, operation, kMaxBddPaths, &combined)) return false;
  *out = combined.empty() ? MapRef() : MapRef(new BddMap(combined, bits));
  return true;
}

std::vector<Cube> BddMap::cubes() const {
  std::vector<Cube> cubes(fixed_.size());
  for (uint32_t k = 0; k < fixed_.size(); ++k) cubes[k] = cube(k);
  return cubes;
}

bool BddMap::sound(std::span<const Cube> cubes, int bits) {
  for (size_t k = 0; k < cubes.size(); ++k) {
    if ((cubes[k].fixed & cubes[k].free) || (cubes[k].fixed | cubes[k].free) >> bits) return false;
    if (k == 0) continue;
    const Cube &a = cubes[k - 1], &b = cubes[k];
    uint32_t differ = (a.fixed ^ b.fixed) | (a.free ^ b.free);
    if (differ == 0) return false;
    uint32_t bit = uint32_t{1} << (bit_width(differ) - 1);
    if ((a.free | b.free | a.fixed) & bit || !(b.fixed & bit)) return false;
  }
  return true;
}

extern const EncodingInfo encoding_bdd = {Encoding::bdd, "bdd",     estimate_bdd,
                                          false,         build_bdd, read_bdd};

}  // namespace fgmpi::groupmap
