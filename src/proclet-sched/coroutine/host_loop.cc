// The loop on the host stack: polling, running proclets, sleeping.

#include "proclet-sched/coroutine/host_loop.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/assert.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/relax_cpu.h"
#include "proclet-sched/coroutine/jump.h"
#include "proclet-sched/coroutine/packing.h"
#include "proclet-sched/coroutine/poller.h"
#include "proclet-sched/coroutine/timers.h"

namespace fgmpi::sched {
namespace {

/// Memory that has not been needed for so long (ns) is freed. Having it again costs some
/// microseconds.
constexpr int64_t kTrimAfter = 100'000'000;
/// Trimming walks over free objects. It may use one part in kTrimShare of the time, and its pauses
/// are at most kLongestTrimPause (ns).
constexpr int64_t kTrimShare = 32, kLongestTrimPause = 2'000'000'000;
constexpr uint32_t kMostTrimPasses = 64;  ///< passes with more to free, between malloc_trim()s
/// Polls of a busy process between readings of the clock for trimming.
constexpr uint32_t kTrimPolls = 512;

/// True when some rank waits for something from outside of MPI, perhaps a completion.
bool more_may_arrive() {
  for (uint32_t i = 0; i < g_scheduler.count; ++i) {
    const Proclet& p = *rank_proclet(i);
    if (p.state == ProcletState::kParked && p.wait && !p.wait->deadlocks) return true;
  }
  return false;
}

void sleep_in_kernel(int64_t timeout_ns) {
  if (threads_enabled()) return sleep_on_scheduler_thread(timeout_ns);
  const Hooks& hooks = g_scheduler.hooks;
  if (hooks.sleep && !hooks.interrupt) return hooks.sleep(timeout_ns);
  if (hooks.sleep) {
    SleepUntilPosted posts(nullptr, hooks.interrupt);
    if (posts.may_sleep()) hooks.sleep(timeout_ns);
    return;
  }
  if (timeout_ns < 0 && !hooks.all_parked && !more_may_arrive()) {
    fprintf(stderr, "fgmpi: every proclet of this process is parked and nothing can wake one\n");
    abort();
  }
  if (is_repeatable()) return g_repeatable_time->sleep(timeout_ns);
  std::atomic<uint32_t> woken{0};
  SleepUntilPosted posts(&woken, nullptr);
  if (posts.may_sleep()) futex_wait(&woken, 0, timeout_ns, FutexScope::kProcess);
}

/// Decides when trimmers run, for all of the library: at most once in kTrimAfter, less often where
/// they take long. Each trimmer decides how much it frees: what has been idle since the last call
/// (base/reserve.h), or whole chunks (pt2pt/pool.h). Returns true when there is more to free,
/// unless it is needed meanwhile.
bool trim_when_due(int64_t now) {
  if (now < g_scheduler.trim_due) return g_scheduler.more_to_trim;
  const bool before = g_scheduler.more_to_trim;
  g_scheduler.more_to_trim = trim_helpers();
  for (auto* trimmer : g_scheduler.trimmers)
    if (trimmer && trimmer()) g_scheduler.more_to_trim = true;
#ifdef __GLIBC__
  // The last of a burst has been freed. Most of it lies inside the allocator's heap, not at its
  // end, and free() returns pages only from the end. A program that keeps its pools moving may
  // never reach a last pass: then the heap is trimmed after some passes.
  g_scheduler.trim_passes = before ? g_scheduler.trim_passes + 1 : 0;
  if ((before && !g_scheduler.more_to_trim) || g_scheduler.trim_passes >= kMostTrimPasses) {
    g_scheduler.trim_passes = 0;
    malloc_trim(1 << 20);
  }
#endif
  const int64_t end = now_ns();
  g_scheduler.trim_due = end + std::clamp((end - now) * kTrimShare, kTrimAfter, kLongestTrimPause);
  return g_scheduler.more_to_trim;
}

/// Each round polls: with sockets that takes a microsecond.
constexpr uint64_t kRoundsPerClock = 4;

// Ranks that poll in vain (poller.h).
/// A busy process wakes one of them in so long (ns): the turn of one takes about an eighth of it.
constexpr int64_t kBusyPerPoller = 1'024;
/// A process in which only they run sleeps between their turns. It polls for a part of each sleep.
constexpr int64_t kFirstSleep = 50'000, kLongestSleep = 1'000'000, kPolledPart = 4;
/// Ranks whose turns take longer than this (ns) on average compute between their polls.
constexpr int64_t kLongestPoll = 2'000;

/// Called when the transports have been polled while others are ready.
void wake_some_pollers() {
  const int64_t now = now_ns(), passed = now - g_scheduler.polled_at;
  g_scheduler.polled_at = now;
  Poller::wake(static_cast<uint32_t>(
      std::clamp<int64_t>(passed / kBusyPerPoller, 1, std::numeric_limits<int32_t>::max())));
}

/// Called when nothing is ready: runs the one that has rested longest. Returns true when it has
/// polled in vain once more, and nothing else has happened.
bool run_one_poller() {
  const uint32_t resting = Poller::resting();
  if (Poller::wake(1) == 0) return false;
  const uint64_t switches = switch_count();
  ++g_scheduler.poller_runs;
  run_from_host(pick());
  return !anything_ready() && switch_count() - switches == 1 && Poller::resting() == resting;
}

/// Does something happen in the program, though only ranks run that poll in vain? Begins to look at
/// it anew if so.
bool pollers_compute(int64_t now) {
  const bool compute = now - g_scheduler.idle_since > kLongestPoll * g_scheduler.poller_runs;
  g_scheduler.poller_runs = 0;
  if (compute) g_scheduler.idle_since = now;
  return compute;
}

/// How long the process polls before it sleeps, ns.
int64_t spin_time() {
  return std::max(g_scheduler.hooks.spin_ns, g_scheduler.poller_sleep / kPolledPart);
}

void note_activity() {
  g_scheduler.idle_since = -1;
  g_scheduler.idle_reported = false;
  g_scheduler.poller_sleep = 0;
  g_scheduler.poller_runs = 0;
}

/// Called when nothing is ready and a poll has found nothing. Returns true when the job
/// is deadlocked.
bool idle() {
  breathe();
  if (anything_ready()) return false;  // a foreign thread was inside and made it ready
  const bool yields_turn = turn_is_elsewhere(g_scheduler.idle_since);
  if (g_scheduler.idle_rounds++ % kRoundsPerClock == 0 || g_scheduler.idle_since < 0 ||
      yields_turn) {
    int64_t now = now_ns();
    Scheduler::IdleTime& time = g_scheduler.idle_time;
    if (g_scheduler.idle_since < 0) {
      g_scheduler.idle_since = now;
      if (g_scheduler.idle_hook) g_scheduler.idle_hook();
    } else {
      time.timed += now - time.last_time;
      time.timed_rounds += g_scheduler.idle_rounds - time.last_round;
    }
    time.last_time = now;
    time.last_round = g_scheduler.idle_rounds;
    if (yields_turn || now - g_scheduler.idle_since >= spin_time()) {
      const bool polls = Poller::resting() > 0;
      if (polls && pollers_compute(now)) return false;
      if (!polls && g_scheduler.timers.empty() &&
          (threads_have_moved() || !g_scheduler.idle_reported)) {
        g_scheduler.idle_reported = true;
        if (g_scheduler.hooks.all_parked && g_scheduler.hooks.all_parked()) return true;
        if (anything_ready()) return false;
      }
      if ((polls || !g_scheduler.timers.empty()) && g_scheduler.hooks.parked_beside_timers &&
          g_scheduler.hooks.parked_beside_timers())
        return false;
      int64_t timeout = until_next_timer(now);
      if (trim_when_due(now)) {
        const int64_t pause = std::max(g_scheduler.trim_due - now, kTrimAfter);
        timeout = timeout < 0 ? pause : std::min(timeout, pause);
      }
      if (polls) {
        const int64_t pause = std::clamp(2 * g_scheduler.poller_sleep, kFirstSleep, kLongestSleep);
        g_scheduler.poller_sleep = pause;
        timeout = timeout < 0 ? pause : std::min(timeout, pause);
      }
      if (pack_while_idle()) return false;
      sleep_in_kernel(timeout);
      time.slept += now_ns() - now;
      g_scheduler.idle_since = -1;
    }
    return false;
  }
  relax_cpu();
  return false;
}

}  // namespace

int64_t Scheduler::IdleTime::total(uint64_t rounds) {
  const double untimed = static_cast<double>(rounds - timed_rounds);
  const double round =
      timed_rounds ? static_cast<double>(timed) / static_cast<double>(timed_rounds) : 0;
  return told = std::max(told, slept + timed + static_cast<int64_t>(untimed * round));
}

void set_hooks(const Hooks& hooks) { g_scheduler.hooks = hooks; }
void set_spin(int64_t ns) { g_scheduler.hooks.spin_ns = ns; }
void set_idle_hook(void (*hook)()) { g_scheduler.idle_hook = hook; }

void add_trimmer(bool (*trim)()) {
  for (auto*& slot : g_scheduler.trimmers) {
    if (slot == trim) return;
    if (slot) continue;
    slot = trim;
    return;
  }
  FGMPI_CHECK(!"more trimmers than kMostTrimmers");
}

bool host_loop() {
  bool deadlocked = false;
  while (g_scheduler.live > 0 && !deadlocked) {
    bool due = g_scheduler.poll_due || !anything_ready();
    g_scheduler.poll_due = false;
    bool progressed = due && make_progress();
    if (due) wake_sleepers();
    if (due) look_at_memory();
    if (due && Poller::resting() > 0) {
      if (anything_ready()) {
        wake_some_pollers();
      } else if (!progressed) {
        if (run_one_poller())
          deadlocked = idle();
        else
          note_activity();
        continue;
      }
    }
    if (Proclet* p = pick()) {
      note_activity();
      if (due && ++g_scheduler.polls >= kTrimPolls) {
        g_scheduler.polls = 0;
        trim_when_due(now_ns());
      }
      run_from_host(p);
    } else if (progressed) {
      note_activity();
    } else {
      deadlocked = idle();
    }
  }
  return deadlocked;
}

int run() {
  FGMPI_CHECK(!g_scheduler.running && !current());
  g_scheduler.running = true;
  become_scheduler_thread(false);
  g_scheduler.host_low = nullptr;
  g_scheduler.idle_since = -1;
  const bool deadlocked = host_loop();
  g_scheduler.running = false;
  if (!deadlocked) return g_scheduler.exit_status;
  g_scheduler.live = 0;
  // A rank that has ended its program may be waiting for the end of the job.
  for (uint32_t i = 0; i < g_scheduler.created && g_scheduler.exit_status == 0; ++i)
    g_scheduler.exit_status = rank_proclet(i)->exit_status;
  return g_scheduler.exit_status ? g_scheduler.exit_status : 1;
}

}  // namespace fgmpi::sched
