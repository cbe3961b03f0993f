// Threads that wait in MPI: which of them polls, which is woken when, and which has its turn. The
// essay on threads is in threads.h.
//
// Turns. Where more threads use MPI than the process has processors, a switch between two threads
// costs as much as ten messages, and threads that poll keep the processor from threads that have
// work. So one thread at a time has its *turn*. While it waits, it polls for all, and the others
// sleep. A thread that becomes ready meanwhile is not woken at once: it is *pending*. A turn ends
// in one of two ways:
//   - The thread that has the turn has waited in vain for `patience`. It hands its turn over to the
//     thread that has become ready last.
//   - The *watcher*, one of the sleeping threads, finds after kTurn that a thread is pending. It
//     gives the turn to the thread that has been pending longest.
// The watcher also takes the turn of a thread that computes, so that progress never stops for
// longer than kIdleCheckInterval.
//
// When the two threads of a pair in two processes have their turns at the same time, they exchange
// thousands of messages without a switch between threads. Two rules bring this about. The thread
// that has become ready last is the one to which the other process's turn has just written. And
// patience is drawn at random: two processes that changed turns at the same time would miss each
// other again and again.
//
// Where there are as many processors as threads, every ready thread is woken at once, and all that
// wait spin a little before they sleep; one of them polls.
//
// Thread rule: inside, unless a function's comment says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "proclet-sched/immortal.h"

namespace fgmpi::sched {

/// A thread that may wait in MPI.
struct WaitingThread {
  std::atomic<uint32_t> word{0};    ///< 1: woken since it last checked
  std::atomic<uint32_t> asleep{0};  ///< 1: in the kernel, or about to be
  bool waiting = false;
  bool on_network = false;  ///< in Hooks::sleep
  bool has_let_go = false;  ///< has released the lock in Hooks::sleep
};

/// Its atomics are read without the lock as well, by waiting threads that then decide how long to
/// spin or to sleep. They decide again inside, so that no order is needed.
struct Turns {
  std::vector<WaitingThread*> waiting;
  WaitingThread* woken = nullptr;  ///< to be woken when the lock has been released
  std::atomic<WaitingThread*> sleeper{
      nullptr};  ///< polls and sleeps on the network for all that wait
  WaitingThread* turn = nullptr;
  /// Woken, but the system call that wakes them is deferred until they have their turn.
  std::vector<WaitingThread*> pending;
  std::atomic<uint32_t> pending_count{0};
  WaitingThread* watcher = nullptr;  ///< sleeps with a time limit, to make sure that turns end
  /// The watcher has found a thread asleep on the network, and sleeps without a limit.
  bool watcher_rests = false;
  std::atomic<uint32_t> polls{0};  ///< polls by threads that wait
  std::atomic<uint32_t> users{1};  ///< threads that use MPI
  uint32_t processors = 1;         ///< of the host, that these threads may count on
  int64_t patience = 10'000;       ///< ns
  uint32_t credit = 1;             ///< above 0: answers arrive within patience
  uint32_t drawn = 0;              ///< state of the generator of patience
};
[[gnu::visibility("hidden")]] extern Immortal<Turns> g_immortal_turns;
static constexpr Turns& g_turns = g_immortal_turns.value;

/// Defined in threads.cc: take and release the engine lock, on any thread of a rank.
void lock_here();
void unlock_here();

/// True when more threads use MPI than the process may count on processors.
inline bool crowded() { return g_turns.users.load(std::memory_order_relaxed) > g_turns.processors; }
/// Counts a poll by the caller, which waits or has tested in vain.
inline void count_poll() {
  g_turns.polls.store(g_turns.polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
/// Wakes w, since what it waits for may have happened. Does nothing if w does not wait.
void wake(WaitingThread* w);
/// Makes the system call for a wake-up that was deferred until the lock was free; nullptr: there is
/// none. Called without the lock.
void wake_after_unlock(WaitingThread* w);

void begin_waiting(WaitingThread* w);
void end_waiting(WaitingThread* w);
/// True when `w` is the thread that polls for all that wait.
bool polls_for_all(WaitingThread* w);
/// True when `w`, which has waited since `since`, is to sleep so that another thread has its turn.
bool hands_over(WaitingThread* w, int64_t since);
/// Called when a thread that hands_over() was asked for has become ready.
void record_patience();
/// Sleeps until woken; the thread that polls for all also until the network has something. At most
/// `timeout_ns` (-1: no limit). Releases the lock meanwhile.
void sleep_here(WaitingThread* w, int64_t timeout_ns);
/// Lets threads that wait for the lock have it.
void breathe_here();

}  // namespace fgmpi::sched
