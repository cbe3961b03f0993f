// Runs that repeat exactly (mpiexec -record and -rewind): what the library itself decides by time
// is then decided by a clock that counts in place of the system's.
//
// The counting clock moves by a fixed step whenever the library asks for the time, so its answers
// depend only on what the ranks have done. The program's own clocks are not concerned: their
// answers are recorded (src/rewind). Thread rule: set once, before ranks run; then any thread.
#pragma once

#include <cstdint>

namespace fgmpi {

struct RepeatableTime {
  /// The counting clock, ns.
  int64_t (*now)();
  /// The clock's time, which this question does not move: later answers are greater.
  int64_t (*stamp)();
  /// Moves it to the time of the system's clock, as it is or as it was recorded.
  void (*catch_up)();
  /// Sleeps where the run is recorded; when it is repeated, only the clock moves. Less than 0: no
  /// limit, until a signal.
  void (*sleep)(int64_t timeout_ns);
};

/// nullptr in all runs but those.
inline const RepeatableTime* g_repeatable_time = nullptr;

inline bool is_repeatable() { return __builtin_expect(g_repeatable_time != nullptr, 0); }

}  // namespace fgmpi
