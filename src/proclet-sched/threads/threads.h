// MPI calls from several threads of the operating system (MPI_THREAD_SERIALIZED and
// MPI_THREAD_MULTIPLE).
//
// The *scheduler's thread* runs main and all rank proclets. A *foreign thread* is any other thread
// that a rank has started. A rank may be granted more than MPI_THREAD_FUNNELED: by MPI_Init_thread,
// or, also before that, by the tools interface. From then on (enable_threads()) one lock per
// process, the *engine lock*, protects the state of the library (docs/concurrency.md). The thread
// that holds the lock is *inside* the library; all others are *outside*: in the program's code, or
// waiting.
//
//   MPI call --outside()?--> EngineEntry: locks, makes the caller's proclet the current one
//                            the call, on the caller's own stack
//                            ~EngineEntry: releases the lock
//
// A foreign thread has a Proclet of kind kForeign, with its rank's state and image, so that
// current() and rank_state() return what they return on the scheduler's thread. It parks by waiting
// on a futex of its own; ready() wakes it. While threads wait, one of them at a time (the
// *sleeper*) polls the transports and sleeps on them for all (turns.h).
//
// Helper coroutines run on the scheduler's thread, or on a waiting foreign thread of their rank.
// Rank proclets run on the scheduler's thread only, where their thread_local variables are.
//
// Before enable_threads() the only cost is the test of one flag in calls that have no fast path.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "proclet-sched/sched.h"
#include "proclet-sched/threads/engine_lock.h"

namespace fgmpi::sched {

namespace detail {
[[gnu::visibility("hidden")]] extern bool g_threads_enabled;
/// Where a thread is. The values of threads that hold the lock come last.
enum Inside : uint8_t {
  kOutside,
  /// Holds the lock in a call that began before enable_threads(): the end of the call does
  /// not release it.
  kBefore,
  kInside,
  kInsideByLoan,  ///< holds the lock by a loan, without an atomic operation (engine_lock.h)
};
[[gnu::visibility("hidden"),
  gnu::tls_model("initial-exec")]] extern thread_local constinit Inside t_inside;
/// nullptr in a thread that belongs to no rank.
[[gnu::visibility("hidden"),
  gnu::tls_model("initial-exec")]] extern thread_local constinit LockUser* t_user;
[[gnu::visibility("hidden")]] extern EngineLock g_engine_lock;
/// The thread that is inside must do more at the end of its call than release the lock.
[[gnu::visibility("hidden")]] extern bool g_leaving_has_work;
}  // namespace detail

/// True once some rank has been granted MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE.
inline bool threads_enabled() { return __builtin_expect(detail::g_threads_enabled, 0); }

/// True: the calling thread must construct an EngineEntry before it touches anything of the
/// library.
inline bool outside() { return threads_enabled() && detail::t_inside < detail::kInside; }

/// For assertions: true when the caller may touch the library's state.
inline bool may_use_engine() {
  return !detail::g_threads_enabled || detail::t_inside >= detail::kBefore;
}

/// Whether a thread that enters after the end of the rank that made it waits there for the end of
/// the process, as a thread of the program does, or goes on, as one of the library does.
enum class ThreadLife : uint8_t { kOfRank, kOfProcess };

/// Holds the engine lock during an MPI call. REQUIRES: outside().
class EngineEntry {
 public:
  explicit EngineEntry(ThreadLife life = ThreadLife::kOfRank)
      : entered_(enter_by_loan() || enter(life)) {}
  ~EngineEntry() {
    if (entered_ && !leave_by_loan()) leave();
  }
  EngineEntry(const EngineEntry&) = delete;
  EngineEntry& operator=(const EngineEntry&) = delete;
  /// False: the thread belongs to no rank, and the lock was not taken.
  explicit operator bool() const { return entered_; }

  /// EngineEntry in two steps, for ends of ranks and for code that leaves in another function
  /// than it enters.
  static bool enter(ThreadLife life = ThreadLife::kOfRank);
  static void leave();

  // The parts of a call in line that ends by calls in the place of returns. may_borrow(): no other
  // thread has been inside since this one left. Then borrow() enters the library by two plain
  // stores, or fails; the call then begins with end_loan(), and anew. It ends with may_give_back(),
  // give_back(), and end_loan() where that fails; with leave() where may_give_back() is false.
  [[gnu::always_inline]] static bool may_borrow() {
    using namespace detail;
    return t_inside == kOutside && g_engine_lock.is_lent_to(t_user);
  }
  [[gnu::always_inline]] static bool borrow() {
    using namespace detail;
    if (!g_engine_lock.take_loan(t_user)) return false;
    t_inside = kInsideByLoan;
    return true;
  }
  [[gnu::always_inline]] static bool may_give_back() {
    using namespace detail;
    return __builtin_expect(t_inside == kInsideByLoan && !g_leaving_has_work, 1);
  }
  /// As may_give_back(), where the thread is inside by a loan.
  [[gnu::always_inline]] static bool leaves_at_once() {
    FGMPI_ASSERT(detail::t_inside == detail::kInsideByLoan);
    return __builtin_expect(!detail::g_leaving_has_work, 1);
  }
  [[gnu::always_inline]] static bool give_back() {
    using namespace detail;
    t_inside = kOutside;
    LockUser* me = t_user;
    me->outside_as = current();
    return g_engine_lock.return_loan(me);
  }
  static void end_loan() { detail::g_engine_lock.end_loan(detail::t_user); }

 private:
  // Succeeds where no other thread has been inside since this one left: then nothing else
  // is to be done.
  static bool enter_by_loan() {
    using namespace detail;
    if (t_inside != kOutside || !g_engine_lock.lock_by_loan(t_user)) return false;
    t_inside = kInsideByLoan;
    return true;
  }
  static bool leave_by_loan() {
    using namespace detail;
    if (t_inside != kInsideByLoan || g_leaving_has_work) return false;
    t_inside = kOutside;
    t_user->outside_as = current();
    g_engine_lock.unlock_by_loan(t_user);
    return true;
  }

  bool entered_;
};

/// For the functions of the C library that a rank calls on the scheduler's thread and that switch
/// (sleep): the thread is inside during the object's life, and outside afterwards.
class SwitchingCall {
 public:
  SwitchingCall() : gives_back_(!threads_enabled() || outside()) {
    if (outside()) EngineEntry::enter();
  }
  ~SwitchingCall() {
    if (gives_back_ && threads_enabled()) EngineEntry::leave();
  }
  SwitchingCall(const SwitchingCall&) = delete;
  SwitchingCall& operator=(const SwitchingCall&) = delete;

 private:
  bool gives_back_;  ///< false where a callback of an MPI call makes the call
};

/// From now on calls take the engine lock. Called inside the library by a rank that is granted
/// MPI_THREAD_SERIALIZED or more; the caller is outside afterwards. `any_thread`: all threads of
/// the process belong to its only rank, also those that were not started through adopt_thread().
/// Never switches.
void enable_threads(bool any_thread);

/// Sets how many processors of the host the threads of this process may count on, at least 1. Where
/// more threads use MPI, those that wait in it take turns.
void set_processors(uint32_t processors);

/// The rank proclet that a thread acts for. On the scheduler's thread: the proclet that runs.
/// nullptr for a thread of no rank, and on the host stack. Needs no lock.
Proclet* rank_of_thread();
/// The proclet that runs on the calling thread, whether inside or outside; nullptr where there is
/// none. Needs no lock.
Proclet* running();
/// Where running() finds the proclet of the scheduler's thread, for a library that asks often:
/// while *enabled and *inside == 0, at `outside_at` in the object to which *user points; else in
/// running_cell(). Called by the scheduler's thread.
struct RunningCells {
  const bool* enabled;
  const uint8_t* inside;
  const void* const* user;
  size_t outside_at;
};
RunningCells running_cells();
/// True when the calling thread neither runs proclets nor holds the engine lock. Another thread may
/// then be inside the library, and current() is not the caller's. This is so in calls that any
/// thread may make at any level (MPI-4.0 section 11.4.1), while threads are not enabled and before
/// ranks run. Needs no lock.
bool is_unattached_thread();
/// True on the scheduler's thread's host stack, inside or outside: where nothing may park.
bool thread_on_host_stack();
/// Called by run() and adopt_caller() on the thread that runs proclets from now on. `adopted`: all
/// threads of the process belong to rank 0.
void become_scheduler_thread(bool adopted);

/// A thread that `rank` starts. The starter makes the object; the thread itself adopts it at its
/// start and ends it when its stack is unwound.
class ThreadOfRank;
ThreadOfRank* make_thread(Proclet* rank);
void drop_thread(ThreadOfRank* thread);  ///< for a thread that was not started after all
void adopt_thread(ThreadOfRank* thread);
void end_thread(ThreadOfRank* thread);
/// number_of(): a thread's own number among those of its process. name_thread(): sets its handle,
/// which its starter learns only after the thread has begun, or even ended.
uint64_t number_of(const ThreadOfRank* thread);
void name_thread(uint64_t number, pthread_t handle);
/// Lets other proclets run until that thread of a rank has ended; returns at once for any other
/// thread. Called on a proclet, inside if threads are enabled. May switch.
void wait_for_end_of(pthread_t handle);
/// A tool wants to learn of every deadlock: the only rank of a process, too, joins its threads by
/// wait_for_end_of(), so that it is known to wait.
inline bool g_joins_are_watched = false;

/// True while threads that `rank`, or a thread of it, has started have not ended. May be called
/// by any thread.
bool has_threads(const Proclet* rank);

/// True when every thread of a rank that still runs waits in MPI for what only MPI can end. Inside.
bool threads_wait_for_mpi();
/// Calls visit(proclet of the thread, its rank proclet, argument) for each foreign thread that
/// waits in MPI. Inside.
void for_each_waiting_thread(void (*visit)(Proclet*, Proclet*, void*), void* argument);
/// Number of entries of foreign threads so far: while it changes, the process is not at
/// rest. Inside.
uint64_t thread_entries();

/// Releases the engine lock for the time of a system call; does nothing before enable_threads().
/// Called inside, on the stack that waits for the network.
void release_engine();
void reacquire_engine();
/// Lets threads that wait for the lock have it, if there are any. Inside.
void breathe();

}  // namespace fgmpi::sched
