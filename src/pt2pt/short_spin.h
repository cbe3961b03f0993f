// ShortSpin: a wait that polls in place, where no other proclet could run, before it parks.
//
// Polling in place saves the switch to the host stack and back, some 20 ns, and is worth it for a
// few microseconds only: after that the idle loop polls, which decides when to yield the core and
// when to sleep (transport/idle.h). Where other threads want the core there is no ShortSpin.
//
// Thread rule: one thread. Never switches.
#pragma once

#include "pt2pt/engine.h"

namespace fgmpi::pt2pt {

/// Longest ShortSpin over sockets (ns); 0: there is none, over any transport.
[[gnu::visibility("hidden")]] extern int64_t g_longest_short_spin;
inline constexpr int64_t kLongestShortSpin = 5'000;

/// Used as: for (ShortSpin spin; !done() && spin.may_continue();) progress();
class ShortSpin {
 public:
  bool may_continue() {
    if (polls_ >= kMostPolls || !sched::is_none_ready() || g_longest_short_spin == 0) return false;
    return ++polls_ % kPollsPerClock != 0 || !polls_are_calls() || !is_over();
  }

 private:
  /// Most polls of shared memory, which take about kLongestShortSpin. Polls of sockets are system
  /// calls and are limited by the clock.
  static constexpr uint32_t kMostPolls = 100, kPollsPerClock = 4;
  static bool polls_are_calls() {
    return g_engine.transports.polls_more() || !g_engine.transports.first_shares_memory();
  }
  bool is_over();

  uint32_t polls_ = 0;
  int64_t start_ = 0;
};

}  // namespace fgmpi::pt2pt
