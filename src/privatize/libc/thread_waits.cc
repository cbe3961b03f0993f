// Waits that no other thread can make for a rank: for a mutex that in the kernel belongs to the
// thread that locks it (robust, PTHREAD_PRIO_*), and for the function of pthread_once, which runs
// on its caller's stack. The rank tries from time to time whether it can go on, and other ranks
// run meanwhile.
//
//   mutex: pthread_mutex_trylock() --EBUSY--> sleep 20 us, 40 us, ... 1 ms, and again
//   once:  done or free? the C library's function; under way: sleep, and check again
//
// For the kernel, all ranks of a process are one thread. So a table lists the mutexes that ranks
// hold, each with its holder. When a rank ends while it holds a robust mutex, the next rank that
// locks the mutex gets EOWNERDEAD, as after the end of a thread.
//
// Thread rule: only the scheduler's thread, on which all ranks run, uses the table; no use of
// it switches.
#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>

#include <algorithm>
#include <climits>
#include <new>
#include <vector>

#include "base/clock.h"
#include "privatize/libc/waits.h"
#include "proclet-sched/immortal.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::privatize {
namespace {

constinit Real<int(pthread_mutex_t*)> g_trylock("pthread_mutex_trylock");
constinit Real<int(pthread_mutex_t*)> g_unlock("pthread_mutex_unlock");
constinit Real<int(pthread_once_t*, void (*)())> g_once("pthread_once");

struct HeldMutex {
  pthread_mutex_t* mutex;
  const sched::Proclet* holder;
  uint32_t count;  ///< how often the holder has locked it (a recursive mutex)
};
constinit Immortal<std::vector<HeldMutex>> g_immortal_held;
constexpr std::vector<HeldMutex>& g_held = g_immortal_held.value;

HeldMutex* find_held(const pthread_mutex_t* m) {
  auto at =
      std::find_if(g_held.begin(), g_held.end(), [m](const HeldMutex& h) { return h.mutex == m; });
  return at == g_held.end() ? nullptr : &*at;
}

/// Bits of `__kind`, as in <bits/struct_mutex.h> and static initialisers: the low two bits are the
/// type, kRobust marks a robust mutex.
constexpr int kTypeBits = 3, kRobust = 16;
int type_of(const pthread_mutex_t* m) { return m->__data.__kind & kTypeBits; }
bool is_robust(const pthread_mutex_t* m) { return m->__data.__kind & kRobust; }
/// The owner field of a robust mutex whose last owner has died: pthread_mutex_consistent() requires
/// this value.
constexpr int kInconsistent = INT_MAX;

/// Locks, without waiting, a mutex that a rank holds: `self` or another one. Returns 0 or an error
/// number: EBUSY where `self` would have to wait; EOWNERDEAD where the holder has ended and the
/// mutex is robust.
int lock_held(HeldMutex* h, const sched::Proclet* self) {
  if (h->holder == self) {
    if (type_of(h->mutex) == PTHREAD_MUTEX_ERRORCHECK_NP) return EDEADLK;
    if (type_of(h->mutex) != PTHREAD_MUTEX_RECURSIVE_NP) return EBUSY;
    if (h->count == UINT_MAX) return EAGAIN;
    ++h->count;
    return 0;
  }
  if (h->holder->state != sched::ProcletState::kFinished || !is_robust(h->mutex)) return EBUSY;
  h->holder = self;
  h->count = 1;
  h->mutex->__data.__owner = kInconsistent;
  return EOWNERDEAD;
}

/// pthread_mutex_trylock() for the running rank; but returns EDEADLK where
/// pthread_mutex_lock() would.
int try_to_lock(pthread_mutex_t* m) {
  const sched::Proclet* self = sched::running();
  if (HeldMutex* held = find_held(m)) {
    if (m->__data.__lock != 0) return lock_held(held, self);
    // The entry is of an earlier mutex at this address, which its holder never unlocked.
    g_held.erase(g_held.begin() + (held - g_held.data()));
  }
  try {
    g_held.reserve(g_held.size() + 1);
  } catch (const std::bad_alloc&) {
    return EAGAIN;
  }
  const int result = g_trylock(m);
  if (result == 0 || result == EOWNERDEAD) g_held.push_back({m, self, 1});
  return result;
}

bool is_time(const timespec* t) { return t->tv_nsec >= 0 && t->tv_nsec < 1'000'000'000; }

/// The low bits of a pthread_once_t: a caller is running the function; the function has returned.
/// Both are 0 before the first call, and again after the function has thrown.
constexpr int kUnderWay = 1, kDone = 2;

int once(pthread_once_t* control, void (*function)()) {
  if (on_proclet_among_others()) {
    int64_t pause = kFirstPause;
    // Pairs with the C library's store of kDone; its own pthread_once() reads the word again.
    while ((__atomic_load_n(control, __ATOMIC_ACQUIRE) & (kUnderWay | kDone)) == kUnderWay)
      let_others_run(&pause);
  }
  return g_once(control, function);
}

}  // namespace

bool is_over(clockid_t clock, const timespec* until) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec > until->tv_sec ||
         (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
}

void let_others_run(int64_t* pause, clockid_t clock, const timespec* until) {
  int64_t ns = *pause;
  if (until) {
    timespec now;
    clock_gettime(clock, &now);
    const int64_t seconds = std::clamp<int64_t>(until->tv_sec - now.tv_sec, -1, 1);
    ns = std::clamp<int64_t>(seconds * 1'000'000'000 + until->tv_nsec - now.tv_nsec, 1, ns);
  }
  *pause = std::min(2 * *pause, kLongestPause);
  const int kept = errno;
  {
    sched::SwitchingCall inside;
    sched::sleep_for(ns);
  }
  errno = kept;
}

int lock_thread_mutex(pthread_mutex_t* m, clockid_t clock, const timespec* until) {
  for (int64_t pause = kFirstPause;; let_others_run(&pause, clock, until)) {
    const int result = try_to_lock(m);
    if (result != EBUSY) return result;
    if (until && !is_time(until)) return EINVAL;
    if (until && is_over(clock, until)) return ETIMEDOUT;
  }
}

int try_thread_mutex(pthread_mutex_t* m) {
  const int result = try_to_lock(m);
  return result == EDEADLK ? EBUSY : result;
}

int unlock_thread_mutex(pthread_mutex_t* m) {
  HeldMutex* held = find_held(m);
  if (!held) return g_unlock(m);
  if (held->holder != sched::running()) return EPERM;
  if (held->count > 1) {
    --held->count;
    return 0;
  }
  g_held.erase(g_held.begin() + (held - g_held.data()));
  return g_unlock(m);
}

int wait_with_thread_mutex(pthread_mutex_t* m, clockid_t clock, const timespec* until) {
  if (until && !is_time(until)) return EINVAL;
  const int unlocked = unlock_thread_mutex(m);
  if (unlocked) return unlocked;
  int64_t pause = kLongestPause / 4;
  let_others_run(&pause, clock, until);
  const bool over = until && is_over(clock, until);
  const int locked = lock_thread_mutex(m, CLOCK_MONOTONIC, nullptr);
  return locked ? locked : over ? ETIMEDOUT : 0;
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE int pthread_once(pthread_once_t* control, void (*function)()) {
  return once(control, function);
}

// The C library's call_once() calls an internal function instead of pthread_once().
FGMPI_INTERPOSE void call_once(once_flag* flag, void (*function)()) {
  static_assert(sizeof(once_flag) == sizeof(pthread_once_t));
  once(reinterpret_cast<pthread_once_t*>(flag), function);
}
