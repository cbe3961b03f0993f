// The waits of threads: which polls, which sleeps, which is woken (turns.h).

#include "proclet-sched/threads/turns.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/futex.h"
#include "base/raw_call.h"
#include "base/relax_cpu.h"
#include "proclet-sched/coroutine/scheduler.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::sched {

constinit Immortal<Turns> g_immortal_turns;

namespace {

/// How long a thread's turn lasts while others wait for theirs (ns): some thousand exchanges with
/// another process.
constexpr int64_t kTurn = 1'000'000;
/// Time between the watcher's checks (ns): while threads wait for their turn, and otherwise.
constexpr int64_t kCheckInterval = 100'000, kIdleCheckInterval = 250'000;
/// How long the thread that has the turn polls while others wait for theirs (ns). It is drawn from
/// this range: if two processes handed over at the same time, over and over, the two ends of one
/// pair would never have their turns at once.
constexpr int64_t kLeastPatience = 8'000, kMostPatience = 24'000;
/// The patience where answers have seldom come so soon, except in one wait of kTries.
constexpr int64_t kNoPatience = 500;
constexpr uint32_t kTries = 16;
/// Credits: an answer that arrives in time adds kEarned, one that does not subtracts one.
constexpr uint32_t kEarned = 4, kMostCredit = 64;
constexpr int kPollsPerWait = 16;
constexpr int64_t kBreath = 4'000;  ///< ns: a thread that is woken runs by then

}  // namespace

void wake_after_unlock(WaitingThread* w) {
  if (w) futex_wake(&w->word, FutexScope::kProcess);
}

namespace {

/// Makes the system call that ends w's sleep.
void wake_in_kernel(WaitingThread* w) {
  if (w->on_network) {
    if (w->has_let_go) g_scheduler.hooks.interrupt();  // otherwise it polls, and finds this itself
    return;
  }
  if (g_turns.woken) futex_wake(&g_turns.woken->word, FutexScope::kProcess);
  g_turns.woken = w;
  detail::g_leaving_has_work = true;
}

/// Wakes a waiter that has a reason to check its state. The store and the exchange pair with the
/// store and the load of sleep_in_kernel_on(), in one order of all four (seq_cst): either the
/// waiter sees the word, or it is seen asleep.
void wake_now(WaitingThread* w) {
  w->word.store(1, std::memory_order_seq_cst);
  if (w->asleep.exchange(0, std::memory_order_seq_cst)) wake_in_kernel(w);
}

}  // namespace

void wake(WaitingThread* w) {
  if (!w->waiting) return;
  if (!crowded() || w->on_network || w == g_turns.turn || !g_turns.watcher || g_turns.watcher_rests)
    return wake_now(w);
  w->word.store(1, std::memory_order_seq_cst);
  if (!w->asleep.load(std::memory_order_seq_cst)) return;
  if (std::find(g_turns.pending.begin(), g_turns.pending.end(), w) != g_turns.pending.end()) return;
  g_turns.pending.push_back(w);
  g_turns.pending_count.store(static_cast<uint32_t>(g_turns.pending.size()),
                              std::memory_order_relaxed);
}

namespace {

bool remove_pending(WaitingThread* w) {
  auto at = std::find(g_turns.pending.begin(), g_turns.pending.end(), w);
  if (at == g_turns.pending.end()) return false;
  g_turns.pending.erase(at);
  g_turns.pending_count.store(static_cast<uint32_t>(g_turns.pending.size()),
                              std::memory_order_relaxed);
  return true;
}

/// Gives the turn to `next`. REQUIRES: `next` is pending.
WaitingThread* hand_turn_to(WaitingThread* next) {
  remove_pending(next);
  g_turns.turn = next;
  return next;
}

/// Called when some threads have ended and there are processors for all: wakes every
/// pending thread.
void wake_pending() {
  while (!g_turns.pending.empty()) wake_now(hand_turn_to(g_turns.pending.front()));
}

/// Draws the patience of the next wait.
void draw_patience() {
  if (!g_scheduler.hooks.sleep) {
    g_turns.patience = 0;  // all that could answer wait in this process
    return;
  }
  g_turns.drawn = g_turns.drawn * 1664525 + 1013904223;  // the linear congruence of Knuth and Lewis
  if (g_turns.credit > 0 || (g_turns.drawn >> 16) % kTries == 0)
    g_turns.patience = kLeastPatience + (g_turns.drawn >> 8) % (kMostPatience - kLeastPatience);
  else
    g_turns.patience = kNoPatience;
}

}  // namespace

bool hands_over(WaitingThread* w, int64_t since) {
  if (!crowded()) {
    wake_pending();
    return false;
  }
  const WaitingThread* sleeper = g_turns.sleeper.load(std::memory_order_relaxed);
  const bool in_use = g_turns.turn != sleeper || !sleeper || !sleeper->on_network;
  if (g_turns.turn && g_turns.turn != w && in_use) return true;
  g_turns.turn = w;
  if (g_turns.pending.empty() || now_ns() - since < g_turns.patience) return false;
  if (g_turns.credit > 0 && g_turns.patience >= kLeastPatience) --g_turns.credit;
  draw_patience();
  // The thread that became ready last: the one that wrote to it has its turn in the other process.
  WaitingThread* next = hand_turn_to(g_turns.pending.back());
  if (g_turns.watcher == next) g_turns.watcher = nullptr;
  wake_now(next);
  return true;
}

namespace {

void end_watching(WaitingThread* w) {
  if (g_turns.watcher != w) return;
  g_turns.watcher = nullptr;
  g_turns.watcher_rests = false;
}

/// Called when `w` no longer waits: another waiting thread has to watch, or to poll.
void find_successor() {
  if (g_turns.waiting.empty()) return;
  if (crowded()) {
    if (g_turns.watcher && !g_turns.watcher_rests) return;
  } else {
    wake_pending();
    if (g_turns.sleeper.load(std::memory_order_relaxed)) return;
  }
  WaitingThread* next = !g_turns.pending.empty() ? hand_turn_to(g_turns.pending.front())
                        : g_turns.watcher        ? g_turns.watcher
                                                 : g_turns.waiting.front();
  end_watching(next);
  wake_now(next);
}

/// Called by the watcher: ends a turn that has lasted long enough, or whose thread has not polled
/// since. True: the watcher goes on, since it is ready or is to poll now.
bool end_turn(WaitingThread* w, bool polled) {
  if (!g_turns.pending.empty()) {
    WaitingThread* next = hand_turn_to(g_turns.pending.front());
    if (next == w) return true;
    wake_now(next);
    return false;
  }
  if (polled || w->word.load(std::memory_order_relaxed)) return false;
  if (g_turns.sleeper.load(std::memory_order_relaxed)) {
    g_turns.watcher_rests = true;
    return false;
  }
  g_turns.turn = w;
  end_watching(w);  // it will sleep on the network, if at all
  return true;
}

}  // namespace

void begin_waiting(WaitingThread* w) {
  w->word.store(0, std::memory_order_relaxed);
  w->waiting = true;
  g_turns.waiting.push_back(w);
}

void end_waiting(WaitingThread* w) {
  w->waiting = false;
  w->asleep.store(0, std::memory_order_relaxed);
  g_turns.waiting.erase(std::find(g_turns.waiting.begin(), g_turns.waiting.end(), w));
  if (!g_turns.pending.empty()) remove_pending(w);
  end_watching(w);
  if (g_turns.sleeper.load(std::memory_order_relaxed) == w) g_turns.sleeper.store(nullptr);
  find_successor();
}

namespace {

/// Polls until the word is set, until no thread polls for this one any more, or for some time.
/// Called without the lock.
void spin_on_word(WaitingThread* w) {
  const int64_t end = now_ns() + g_scheduler.hooks.spin_ns;
  do {
    for (int i = 0; i < kPollsPerWait; ++i) {
      if (w->word.load(std::memory_order_relaxed) ||
          !g_turns.sleeper.load(std::memory_order_relaxed))
        return;
      relax_cpu();
    }
  } while (now_ns() < end);
}

/// Sleeps in the kernel until the word is set, or for `timeout_ns` (-1: no limit). False: the time
/// is over. Called without the lock.
bool sleep_in_kernel_on(WaitingThread* w, int64_t timeout_ns) {
  const int64_t end = timeout_ns < 0 ? 0 : add_time(now_ns(), timeout_ns);
  w->asleep.store(1, std::memory_order_seq_cst);
  while (!w->word.load(std::memory_order_seq_cst)) {
    const int64_t left = timeout_ns < 0 ? -1 : end - now_ns();
    if (timeout_ns >= 0 && left <= 0) return false;
    futex_wait(&w->word, 0, left, FutexScope::kProcess);
  }
  return true;
}

/// Sleeps until woken, for at most `timeout_ns` (-1: no limit). Releases the lock meanwhile.
void sleep_on_word(WaitingThread* w, int64_t timeout_ns) {
  const bool spins = !crowded();
  bool watches = !spins && (!g_turns.watcher || g_turns.watcher == w);
  if (watches) g_turns.watcher = w, g_turns.watcher_rests = false;
  const int64_t end = timeout_ns < 0 ? INT64_MAX : add_time(now_ns(), timeout_ns);
  uint32_t polls = g_turns.polls.load(std::memory_order_relaxed);
  int looks = 0;
  unlock_here();
  if (spins) spin_on_word(w);
  const bool vacant = spins && !g_turns.sleeper.load(std::memory_order_relaxed);
  for (int64_t left = timeout_ns; !vacant; left = timeout_ns < 0 ? -1 : end - now_ns()) {
    const int64_t look =
        g_turns.pending_count.load(std::memory_order_relaxed) ? kCheckInterval : kIdleCheckInterval;
    const bool limited = watches && (left < 0 || left > look);
    if (timeout_ns >= 0 && left <= 0) break;
    if (sleep_in_kernel_on(w, limited ? look : left)) break;
    if (!limited) continue;
    const uint32_t seen = g_turns.polls.load(std::memory_order_relaxed);
    const bool polled = std::exchange(polls, seen) != seen;
    if (polled && (g_turns.pending_count.load(std::memory_order_relaxed) == 0 ||
                   ++looks < kTurn / kCheckInterval))
      continue;
    looks = 0;
    lock_here();
    const bool goes_on = g_turns.watcher != w || end_turn(w, polled);
    watches = !g_turns.watcher_rests;
    if (goes_on) {
      w->asleep.store(0, std::memory_order_relaxed);
      return;
    }
    unlock_here();
  }
  lock_here();
  w->asleep.store(0, std::memory_order_relaxed);
}

/// Sleeps on behalf of all waiting threads: until woken, until the network has something, or until
/// `timeout_ns` has passed.
void sleep_for_all(WaitingThread* w, int64_t timeout_ns) {
  if (!g_scheduler.hooks.interrupt) {
    SleepUntilPosted posts(&w->word, nullptr);
    if (!posts.may_sleep()) return;
    unlock_here();
    sleep_in_kernel_on(w, timeout_ns);
    lock_here();
  } else {
    SleepUntilPosted posts(nullptr, g_scheduler.hooks.interrupt);
    if (!posts.may_sleep()) return;
    w->on_network = true;
    w->asleep.store(1, std::memory_order_relaxed);
    g_scheduler.hooks.sleep(timeout_ns);
    w->on_network = false;
  }
  w->asleep.store(0, std::memory_order_relaxed);
}

}  // namespace

bool polls_for_all(WaitingThread* w) {
  WaitingThread* sleeper = g_turns.sleeper.load(std::memory_order_relaxed);
  const bool crowd = crowded(), may = !crowd || !g_turns.turn || g_turns.turn == w;
  if (crowd && may) g_turns.turn = w;
  if (!sleeper && may) {
    g_turns.sleeper.store(w, std::memory_order_relaxed);
    return true;
  }
  if (sleeper == w && !may) {
    g_turns.sleeper.store(nullptr, std::memory_order_relaxed);
    if (g_turns.watcher_rests) end_watching(g_turns.watcher);  // a resting watcher relies on `w`
  }
  return sleeper == w && may;
}

void sleep_here(WaitingThread* w, int64_t timeout_ns) {
  const bool for_all = polls_for_all(w);
  if (for_all) end_watching(w);
  if (w->word.exchange(0, std::memory_order_relaxed)) return;
  for_all ? sleep_for_all(w, timeout_ns) : sleep_on_word(w, timeout_ns);
  w->word.store(0, std::memory_order_relaxed);
}

void breathe_here() {
  if (!detail::g_engine_lock.contended(detail::t_user)) return;
  unlock_here();
  // The thread that slept for the lock has been woken, and needs some time to run. Without this
  // pause it would find the lock taken again.
  const int64_t until = now_ns() + kBreath;
  do raw_call(SYS_sched_yield);
  while (now_ns() < until);
  lock_here();
}

void record_patience() {
  if (!g_turns.pending.empty()) g_turns.credit = std::min(g_turns.credit + kEarned, kMostCredit);
}

}  // namespace fgmpi::sched
