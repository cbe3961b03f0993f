// The packed permutation and its marked inverse.

#include "groupmap/permutation.h"

#include <vector>

namespace fgmpi::groupmap {

PackedPermutation::PackedPermutation(std::span<const uint32_t> pi)
    : PackedPermutation(PackedVector::of(pi)) {}

void PackedPermutation::mark() {
  uint32_t n = size();
  std::vector<uint64_t> seen(words_for(n)), marks(words_for(n));
  // The first walk finds the elements that are marked; the second stores their back pointers, which
  // are ordered by element.
  auto walk = [&](auto marked) {
    std::fill(seen.begin(), seen.end(), 0);
    for (uint32_t start = 0; start < n; ++start) {
      if (get_bit(seen.data(), start)) continue;
      uint32_t length = 0, at = start, behind = start;
      do {
        set_bit(seen.data(), at);
        if (length && length % kStep == 0) {
          marked(at, behind);
          behind = at;
        }
        at = forward(at);
        ++length;
      } while (at != start);
      // The start of a long cycle points back to the last marked element.
      if (length > kStep) marked(start, behind);
    }
  };
  uint32_t count = 0;
  walk([&](uint32_t at, uint32_t) {
    set_bit(marks.data(), at);
    ++count;
  });
  marked_ = RankBits(std::move(marks), n, false);
  back_ = PackedVector(count, forward_.width());
  walk([&](uint32_t at, uint32_t behind) { back_.set(marked_.rank1(at), behind); });
}

double PackedPermutation::expected_bytes(double n) {
  int width = bit_width(n > 1 ? static_cast<uint64_t>(n - 1) : 0);
  return n * width / 8 + RankBits::expected_bytes(n, false) + n / kStep * width / 8 + 32;
}

PackedPermutation PackedPermutation::read(ByteReader& in, uint32_t count) {
  PackedVector forward = PackedVector::read(in, count);
  if (in.failed() || !is_permutation(count, [&](uint32_t i) { return forward[i]; })) {
    in.fail();
    return {};
  }
  return PackedPermutation(std::move(forward));
}

}  // namespace fgmpi::groupmap
