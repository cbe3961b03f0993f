// The scheduler's state, shared by the files of this module only. Hot (sched.h) has what every
// switch uses; the rest is here. A process has one scheduler, from before the first constructor
// until after the last destructor.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "proclet-sched/coroutine/internal.h"
#include "proclet-sched/coroutine/stacks.h"
#include "proclet-sched/immortal.h"
#include "proclet-sched/threads/completions.h"

namespace fgmpi::sched {

struct Timer {
  int64_t deadline;
  uint64_t order;  ///< among equal deadlines, the lowest is woken first
  Proclet* proclet;
  bool operator>(const Timer& other) const {
    return deadline != other.deadline ? deadline > other.deadline : order > other.order;
  }
};

/// Ranks that one call of add_ranks() has added, or a visitor (visitors.h).
struct AddedRanks {
  uint32_t first, count;
  std::unique_ptr<StackRegion> stacks;
  bool is_visitor = false;
};

struct Scheduler {
  Hooks hooks;
  Options options;
  bool options_given = false;
  void (*switch_hook)(Proclet*, Proclet*) = nullptr;
  HookAt hook_at = HookAt::kWatched;
  HookAt beneath_at = HookAt::kWatched;  ///< of the hook that rank_clock.cc calls
  void (*idle_hook)() = nullptr;
  bool (*trimmers[kMostTrimmers])() = {};
  uint32_t polls = 0;         ///< since a busy process last checked whether a trim is due
  int64_t trim_due = 0;       ///< when the trimmers are to be called next (ns of the clock)
  bool more_to_trim = false;  ///< what the trimmers returned then
  uint32_t trim_passes = 0;   ///< trims that had more to free, since pages were returned

  Proclet* ranks = nullptr;
  uint32_t count = 0;             ///< past the last rank that was ever added
  uint32_t created = 0;           ///< how many create_ranks() has made
  uint32_t room = 0;              ///< descriptors that are reserved
  std::vector<AddedRanks> added;  ///< ascending
  uint32_t live = 0;
  int exit_status = 0;
  StackRegion stacks;
  StackPlaces places;  ///< for `stacks`; without slots: the module maps them itself

  void* host_context = nullptr;
  void* host_fake_stack = nullptr;
  const void* host_low = nullptr;
  size_t host_size = 0;
  bool running = false;
  bool poll_due = true;
  uint64_t switches = 0;        ///< before the current period between polls
  uint64_t rests = 0;           ///< calls of yield() and sleep_for() that switched
  uint32_t period = 1;          ///< what Hot::until_poll began with
  Proclet* last_ran = nullptr;  ///< the proclet that has left for the host stack last
  /// Has jumped to the host stack, which frees its stack; or, where it is parked, has left for
  /// another process.
  Proclet* finished = nullptr;

  void (*host_call)(void*) = nullptr;  ///< requested by the proclet that jumped to the host stack
  void* host_argument = nullptr;
  bool in_host_call = false;

  /// Ranks that have left their stacks, each with the proclet of its end (end_of()).
  std::vector<std::pair<Proclet*, Proclet*>> ends;

  std::vector<Timer> timers;  ///< a min-heap
  uint64_t timer_order = 0;
  std::vector<Proclet*> shuffled;  ///< the run queue of the random policy
  RandomSequence random;

  int64_t idle_since = -1;
  uint64_t idle_rounds = 0;
  bool idle_reported = false;

  // While ranks rest that poll in vain (poller.h).
  int64_t polled_at = 0;     ///< when some were woken last
  uint32_t poller_runs = 0;  ///< since idle_since
  int64_t poller_sleep = 0;  ///< the last sleep, ns; 0: none since something happened

  /// How long the process has been idle. The clock is read once in a few rounds. The time from the
  /// last reading to the end of an idle period is estimated by the number of rounds in it.
  struct IdleTime {
    int64_t slept = 0;  ///< ns
    int64_t timed = 0;  ///< ns that passed in timed_rounds
    uint64_t timed_rounds = 0;
    int64_t last_time = 0;  ///< when the clock was read last, at last_round of this period
    uint64_t last_round = 0;
    int64_t told = 0;  ///< the last estimate, so that an estimate never falls
    int64_t total(uint64_t rounds);
  } idle_time;
};

[[gnu::visibility("hidden")]] extern Immortal<Scheduler> g_immortal_scheduler;
static constexpr Scheduler& g_scheduler = g_immortal_scheduler.value;
using detail::g_hot;

/// Handles completions and polls; true when there was anything. Called inside, where
/// nothing may park.
inline bool make_progress() {
  const bool any = drain_completions();
  return (g_scheduler.hooks.poll && g_scheduler.hooks.poll()) || any;
}

}  // namespace fgmpi::sched
