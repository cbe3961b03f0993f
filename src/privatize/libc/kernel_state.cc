// Timers of timer_create() are counted here; the kernel tells the rest.
#include "privatize/libc/kernel_state.h"

#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <new>
#include <vector>

#include "base/plain_mutex.h"
#include "base/raw_call.h"
#include "privatize/internal.h"
#include "privatize/libc/children.h"
#include "privatize/libc/waits.h"
#include "privatize/load/visitors.h"
#include "proclet-sched/immortal.h"

namespace fgmpi::privatize {
namespace {

constinit Real<int(clockid_t, sigevent*, timer_t*)> g_timer_create("timer_create");
constinit Real<int(timer_t)> g_timer_delete("timer_delete");

struct RankTimer {
  timer_t timer;
  const sched::Proclet* rank;
};
/// The timers of ranks that have not been deleted. Thread rule: any thread.
struct RankTimers {
  PlainMutex mutex;
  std::vector<RankTimer> list;
};
constinit Immortal<RankTimers> g_immortal_timers;
constexpr RankTimers& g_timers = g_immortal_timers.value;

void record_timer(timer_t timer) {
  const sched::Proclet* rank = in_own_process() ? sched::rank_of_thread() : nullptr;
  if (!rank) return;
  const std::lock_guard<PlainMutex> guard(g_timers.mutex);
  try {
    g_timers.list.push_back({timer, rank});
  } catch (const std::bad_alloc&) {  // the rank is saved without it
  }
}

void forget_timer(timer_t timer) {
  const std::lock_guard<PlainMutex> guard(g_timers.mutex);
  std::erase_if(g_timers.list, [timer](const RankTimer& each) { return each.timer == timer; });
}

bool has_timer(const sched::Proclet* rank) {
  const std::lock_guard<PlainMutex> guard(g_timers.mutex);
  return std::any_of(g_timers.list.begin(), g_timers.list.end(),
                     [rank](const RankTimer& timer) { return timer.rank == rank; });
}

/// Would the kernel send the process a signal after a time?
bool process_has_timer() {
  for (const __itimer_which which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    itimerval timer{};
    if (getitimer(which, &timer) == 0 && (timer.it_value.tv_sec || timer.it_value.tv_usec))
      return true;
  }
  return false;
}

/// The first signal that has come while it was blocked; 0: there is none. Signals that are ignored
/// by default do not count: one of a child that has ended may wait for ever.
int waiting_signal() {
  uint64_t waiting = 0;
  raw_call(SYS_rt_sigpending, reinterpret_cast<long>(&waiting), sizeof waiting);
  for (const int number : {SIGCHLD, SIGURG, SIGWINCH, SIGCONT})
    waiting &= ~(uint64_t{1} << (number - 1));
  return waiting ? __builtin_ctzll(waiting) + 1 : 0;
}

}  // namespace

const char* reason_of_kernel_state() {
  if (process_has_timer()) return "a timer runs in its process (setitimer, alarm)";
  if (has_timer(sched::running())) return "it has a timer (timer_create)";
  if (rank_has_children())
    return "it has a child process that runs, or that it has not waited for (fork, posix_spawn)";
  if (const int number = waiting_signal()) {
    static char text[80];
    const char* name = sigabbrev_np(number);
    std::snprintf(text, sizeof text, "signal %d (SIG%s) has come, which its process blocks", number,
                  name ? name : "RT");
    return text;
  }
  return nullptr;
}

uint64_t blocked_signals() {
  uint64_t blocked = 0;
  raw_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, reinterpret_cast<long>(&blocked), sizeof blocked);
  return blocked;
}

void block_signals_of_saved_rank(uint64_t signals) {
  raw_call(SYS_rt_sigprocmask, SIG_BLOCK, reinterpret_cast<long>(&signals), 0, sizeof signals);
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE int timer_create(clockid_t clock, sigevent* event, timer_t* timer) noexcept {
  try_to_bring_home();
  const int failed = g_timer_create(clock, event, timer);
  if (!failed && !in_this_library(reinterpret_cast<uintptr_t>(__builtin_return_address(0))))
    record_timer(*timer);
  return failed;
}

FGMPI_INTERPOSE int timer_delete(timer_t timer) noexcept {
  forget_timer(timer);
  return g_timer_delete(timer);
}
