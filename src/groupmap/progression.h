// Arithmetic progressions as sets, and what two of them have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace fgmpi::groupmap {

/// The set {first, first + step, ..., last}. REQUIRES (for use): step >= 1, first <= last, last -
/// first is a multiple of step.
struct Progression {
  int64_t first;
  int64_t last;
  int64_t step;

  /// The set of `count` numbers from `value` on by `stride`, which may be negative. REQUIRES: count
  /// >= 1.
  static Progression of(int64_t value, int64_t stride, int64_t count) {
    int64_t other = value + stride * (count - 1);
    int64_t step = stride < 0 ? -stride : stride;
    return {std::min(value, other), std::max(value, other), count == 1 ? 1 : step};
  }
  int64_t count() const { return (last - first) / step + 1; }
  bool contains(int64_t x) const { return x >= first && x <= last && (x - first) % step == 0; }
};

/// The common members, which are a progression too, by the Chinese remainder theorem; nothing when
/// there are none.
std::optional<Progression> intersect(const Progression& a, const Progression& b);

}  // namespace fgmpi::groupmap
