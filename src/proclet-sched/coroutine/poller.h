// Ranks that poll in vain: MPI_Test, MPI_Iprobe and their like, called in a loop.
//
// A poll in vain changes nothing. After some in a row, between which the rank has called nothing
// else, the rank rests: it parks until something that it has polled for has come (its Waiter is
// counted down), or until its turn comes all the same, since the program may leave the loop for
// another reason. Resting ranks take turns:
//
//   others are ready    some are woken whenever the transports are polled (every 64 switches, or
//                       every kLongestPause), so that they take about an eighth of the time
//   nothing is ready    one after the other, with a poll of the transports between them
//   for longer          none, while the process sleeps in the kernel for kFirstSleep to
//                       kLongestSleep; but never where ranks compute between their polls
//
// What a rank polls for must have been polled at least once before the rank rests, so that it can
// count the Waiter down. A loop that polls for many things, or ends in another way, shows in a rank
// that was woken in its turn and then did something else: it rests only after twice as many polls
// from then on.
//
// Where ranks have threads, those that run on the scheduler's thread rest, the others do not. Calls
// of other threads end a row of polls in vain, so that ranks rest only while their threads compute
// or wait.
//
// Thread rule: inside, ranks' own proclets.
#pragma once

#include <cstdint>

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// Something that a proclet waits for: `missing` more completions make it ready.
struct Waiter {
  Proclet* proclet;
  uint32_t missing;
  /// Called at a completion. Never switches.
  void count_down() {
    if (missing > 0 && --missing == 0) ready(proclet);
  }
};

/// What a rank keeps that has polled in vain. Lives as long as the process.
class Poller {
 public:
  explicit Poller(Proclet* rank) : news_{rank, kAwake} {}
  /// The Waiter of everything that the rank has polled for.
  Waiter* news() { return &news_; }
  /// Called after a poll in vain; `site` names it. Lets others run; may rest. May switch. REQUIRES:
  /// called by the rank, for which may_rest() is true; the call has been counted (call_count.h).
  /// Returns whether something that the rank has polled for has come meanwhile.
  bool let_others_run(const WaitSite* site);
  /// A number for the polls in vain since something has come, or the rank has done something else.
  uint32_t row() const { return row_; }
  /// Would a poll by the caller belong to this row? REQUIRES: as let_others_run().
  bool goes_on_in(uint32_t row) const {
    return row == row_ && news_.missing == kAwake && goes_on();
  }
  /// Wakes the ranks that have rested longest, at most this many; returns how many. Never switches.
  static uint32_t wake(uint32_t most);
  static uint32_t resting();

  Poller *next = nullptr, *prev = nullptr;  ///< base/list.h: those that rest

 private:
  /// More than the completions that one rank can have between two polls.
  static constexpr uint32_t kAwake = 1u << 30;
  static constexpr uint32_t kFewPolls = 2, kManyPolls = 1024;
  /// before_rest_ becomes one less each time that the rank was woken so often.
  static constexpr uint32_t kWakesPerPoll = 16;
  bool goes_on() const;
  void rest(const WaitSite* site);

  Waiter news_;
  uint32_t in_vain_ = 0;                ///< polls in vain in a row
  uint32_t row_ = 1;                    ///< counts the rows
  uint32_t before_rest_ = kFewPolls;    ///< polls in vain that do not rest
  uint32_t woken_ = 0;                  ///< by what it polled for, while it rested
  uint32_t calls_left_ = 0, idle_ = 0;  ///< of the turn, idle calls: when the last poll ended
  uint64_t switches_ = 0;               ///< then
  bool listed_ = false, in_turn_ = false;
};

/// Counts a call that does nothing: a test of a null request.
void count_idle_call();

/// May the caller rest? False outside of ranks' own proclets.
bool may_rest();

}  // namespace fgmpi::sched
