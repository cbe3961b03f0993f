// VirtualTime: the clocks of predictions.
#pragma once

#include <cstdint>

namespace fgmpi::predict {

/// Virtual time in picoseconds: 106 days. A byte takes fractions of a nanosecond.
using VirtualTime = int64_t;
inline constexpr VirtualTime kPicosecondsPerNs = 1000;
inline constexpr VirtualTime kNever = INT64_MAX;
inline VirtualTime from_ns(double ns) { return static_cast<VirtualTime>(ns * 1000 + 0.5); }

}  // namespace fgmpi::predict
