// Time in nanoseconds, as int64_t: 292 years. INT64_MAX is "for ever": sums of times stay there
// instead of overflowing.
//
// Thread rule: any. Nothing here switches.
#pragma once

#include <cstdint>
#include <ctime>

#include "base/repeatable.h"

namespace fgmpi {

inline constexpr int64_t kSecond = 1'000'000'000;  ///< ns

/// Converts a timespec with tv_sec >= 0 and 0 <= tv_nsec < kSecond; the result is at
/// most INT64_MAX.
constexpr int64_t to_ns(const timespec& t) {
  int64_t ns;
  if (__builtin_mul_overflow(int64_t{t.tv_sec}, kSecond, &ns) ||
      __builtin_add_overflow(ns, int64_t{t.tv_nsec}, &ns))
    return INT64_MAX;
  return ns;
}

/// REQUIRES: ns >= 0.
constexpr timespec to_timespec(int64_t ns) {
  return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
}

/// The time of the monotonic clock, which nobody sets and all processes of a host share. In a run
/// that repeats, the time of the counting clock.
inline int64_t now_ns() {
  if (is_repeatable()) return g_repeatable_time->now();
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * kSecond + t.tv_nsec;
}

/// The time of an event that a tool compares with others. In a run that repeats this question does
/// not move the counting clock: there may be no tool when the run is repeated.
inline int64_t stamp_ns() { return is_repeatable() ? g_repeatable_time->stamp() : now_ns(); }

/// start + duration, at most INT64_MAX. REQUIRES: start >= 0.
constexpr int64_t add_time(int64_t start, int64_t duration) {
  int64_t sum;
  return __builtin_add_overflow(start, duration, &sum) ? INT64_MAX : sum;
}

}  // namespace fgmpi
