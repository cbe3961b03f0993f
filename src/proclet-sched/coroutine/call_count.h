// How many calls that need not wait a turn has.
//
// A rank that makes call after call without ever having to wait (it posts receives, sends to
// itself, tests requests that are complete) would keep all others of its process from running. So
// calls that a rank may make in this way are counted, and after every kCallsPerTurn of them others
// run. Where switches come often anyway, the count begins anew before that (begin_period()). Such a
// call is counted inside of the library, at its entry, before it has begun anything, or when it is
// over.
//
// Thread rule: inside.
#pragma once

#include <cstdint>

namespace fgmpi::sched {

inline constexpr uint32_t kCallsPerTurn = 1024;

namespace detail {
/// Calls that are left in this turn; 0: let_others_run() is due.
[[gnu::visibility("hidden")]] extern uint32_t g_calls_left;
/// In recorded runs (base/repeatable.h) src/rewind ends the turns, by the events of the run; this
/// number falls by one at each.
[[gnu::visibility("hidden")]] extern uint32_t g_events_left;
}  // namespace detail

/// Begins a new turn, after all others that are ready. May switch, where the caller may.
void let_others_run();

/// Counts a call: true when it is the last of the turn. The caller then calls let_others_run().
inline bool is_last_of_turn() { return __builtin_expect(--detail::g_calls_left == 0, 0); }

/// Counts a call. May switch.
inline void count_call() {
  if (is_last_of_turn()) let_others_run();
}

}  // namespace fgmpi::sched
