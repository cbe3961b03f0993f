// Threads that wait in MPI: which of them polls, who is woken when, and whose turn it is. The essay
// on threads is in threads.h.
//
// Turns. Where more threads use MPI than the process may count on processors, a switch between two
// of them costs as much as ten messages, and threads that poll take the processor from those that
// have something to do. So one of them at a time has its *turn*: while it waits it polls, for all,
// and the others sleep. One that becomes ready meanwhile is not woken at once: it is *pending*
// until the thread whose turn it is has waited in vain for `patience`, which hands its turn over to
// the one that has become ready last, or until the *watcher*, one of those that sleep, finds after
// kTurn that somebody is pending, and ends the turn in favour of who has been so for longest. The
// watcher also takes the turn of a thread that computes, so that there is no progress for no longer
// than kSeldomLook. As the two threads of a pair in two processes come to have their turns at the
// same time, they exchange thousands of messages without a switch between threads. They come to it
// since the thread that has become ready last is the one to which the other process's turn has just
// written, and since patience is drawn at random: two processes that changed turns at the same time
// would miss each other again and again.
//
// Where there are as many processors as threads, everybody who is ready is woken at once, and all
// that wait spin a little before they sleep; one of them polls.
//
// Thread rule: inside, unless a function says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "proclet-sched/immortal.h"

namespace fgmpi::sched {

/// A thread that may wait in MPI.
struct Waiter {
  std::atomic<uint32_t> word{0};    ///< 1: woken since it last looked
  std::atomic<uint32_t> asleep{0};  ///< 1: in the kernel, or about to go there
  bool waiting = false;
  bool on_network = false;  ///< in Hooks::sleep
  bool has_let_go = false;  ///< of the lock, there
};

struct Turns {
  std::vector<Waiter*> waiting;
  Waiter* woken = nullptr;                ///< to be woken when the lock has been given back
  std::atomic<Waiter*> sleeper{nullptr};  ///< polls and sleeps on the network for all that wait
  Waiter* turn = nullptr;
  /// Woken, but their system call has been put off until it is their turn.
  std::vector<Waiter*> pending;
  std::atomic<uint32_t> pending_count{0};
  Waiter* watcher = nullptr;  ///< sleeps with a time limit, to see that turns end
  /// And has seen that somebody sleeps on the network: without a limit.
  bool watcher_rests = false;
  std::atomic<uint32_t> polls{0};  ///< of threads that wait
  std::atomic<uint32_t> users{1};  ///< threads that use MPI
  uint32_t processors = 1;         ///< of the host, that they may count on
  int64_t patience = 10'000;       ///< ns
  uint32_t credit = 1;             ///< more than 0: answers come while a thread has patience
  uint32_t drawn = 0;              ///< state of the generator of patience
};
[[gnu::visibility("hidden")]] extern Immortal<Turns> g_immortal_turns;
static constexpr Turns& g_turns = g_immortal_turns.value;

/// Defined in threads.cc: give back the engine lock and take it again, on any thread of a rank.
void lock_here();
void unlock_here();

/// More threads use MPI than the process may count on processors.
inline bool crowded() { return g_turns.users.load(std::memory_order_relaxed) > g_turns.processors; }
/// The caller, which waits or looks in vain, has polled.
inline void count_poll() {
  g_turns.polls.store(g_turns.polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
/// What w waits for has come, perhaps. Nothing if it does not wait.
void wake(Waiter* w);
/// The system call for a wake-up that was put off until the lock was free; nullptr: none. Without
/// the lock.
void wake_after_unlock(Waiter* w);

void begin_waiting(Waiter* w);
void end_waiting(Waiter* w);
/// True: `w` is the one who polls for all that wait.
bool polls_for_all(Waiter* w);
/// Whether `w`, which has waited since `since`, is to sleep for others to have their turn.
bool hands_over(Waiter* w, int64_t since);
/// `w`, which hands_over() is asked for, has become ready.
void note_patience();
/// Until woken, or for the one who polls until the network has something, or `timeout_ns` has
/// passed (-1: no limit). Gives back the lock meanwhile.
void sleep_here(Waiter* w, int64_t timeout_ns);
/// Lets those who wait for the lock have it.
void breathe_here();

}  // namespace fgmpi::sched
