// Waits that no other thread can make for a rank: for a mutex that belongs to the thread that locks
// it in the kernel (robust, PTHREAD_PRIO_*), and for the function of pthread_once, which runs on
// its caller's stack. The rank looks from time to time whether it can go on, and the other ranks
// run meanwhile.
//
//   mutex: pthread_mutex_trylock() --EBUSY--> sleep 20 us, 40 us, ... 1 ms, and again
//   once:  done or free? the C library's function; under way: sleep, and look again
//
// Ranks of a process lock such a mutex as one thread, so a table says which of them has it: only
// mutexes that ranks hold are in it. A rank that ends with a robust mutex leaves it to the next one
// with EOWNERDEAD, as a thread does.
//
// Thread rule: the table is the scheduler's thread's, on which all ranks run; none of its uses
// switches.
#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>

#include <algorithm>
#include <climits>
#include <new>
#include <vector>

#include "base/clock.h"
#include "privatize/waits.h"
#include "proclet-sched/immortal.h"
#include "proclet-sched/threads.h"

namespace fgmpi::privatize {
namespace {

constinit Real<int(pthread_mutex_t*)> g_trylock("pthread_mutex_trylock");
constinit Real<int(pthread_mutex_t*)> g_unlock("pthread_mutex_unlock");
constinit Real<int(pthread_once_t*, void (*)())> g_once("pthread_once");

struct Held {
  pthread_mutex_t* mutex;
  const sched::Proclet* holder;
  uint32_t count;  ///< of a recursive mutex
};
constinit Immortal<std::vector<Held>> g_immortal_held;
constexpr std::vector<Held>& g_held = g_immortal_held.value;

Held* find_held(const pthread_mutex_t* m) {
  auto at = std::find_if(g_held.begin(), g_held.end(), [m](const Held& h) { return h.mutex == m; });
  return at == g_held.end() ? nullptr : &*at;
}

/// As <bits/struct_mutex.h> and static initialisers have it: the low two bits are the type, this
/// one says robust.
constexpr int kTypeBits = 3, kRobust = 16;
int type_of(const pthread_mutex_t* m) { return m->__data.__kind & kTypeBits; }
bool is_robust(const pthread_mutex_t* m) { return m->__data.__kind & kRobust; }
/// The owner of a robust mutex whose last one has died: pthread_mutex_consistent() asks for it.
constexpr int kInconsistent = INT_MAX;

/// The mutex is the scheduler's thread's, for a rank: `h` of another one, or of the caller, which
/// does not wait.
int lock_held(Held* h, const sched::Proclet* self) {
  if (h->holder == self) {
    if (type_of(h->mutex) == PTHREAD_MUTEX_ERRORCHECK_NP) return EDEADLK;
    if (type_of(h->mutex) != PTHREAD_MUTEX_RECURSIVE_NP) return EBUSY;
    if (h->count == UINT_MAX) return EAGAIN;
    ++h->count;
    return 0;
  }
  if (h->holder->state != sched::State::kFinished || !is_robust(h->mutex)) return EBUSY;
  h->holder = self;
  h->count = 1;
  h->mutex->__data.__owner = kInconsistent;
  return EOWNERDEAD;
}

/// As pthread_mutex_trylock, but EDEADLK where a lock would say so.
int try_to_lock(pthread_mutex_t* m) {
  const sched::Proclet* self = sched::running();
  if (Held* held = find_held(m)) {
    if (m->__data.__lock != 0) return lock_held(held, self);
    // Of one that was at this address before
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

bool is_over(clockid_t clock, const timespec* until) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec > until->tv_sec ||
         (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
}

bool is_time(const timespec* t) { return t->tv_nsec >= 0 && t->tv_nsec < 1'000'000'000; }

/// The low bits of a pthread_once_t: somebody runs the function; it has returned. It is 0 before,
/// and again if the function has thrown.
constexpr int kUnderWay = 1, kDone = 2;

int once(pthread_once_t* control, void (*function)()) {
  if (on_proclet_among_others()) {
    int64_t pause = kFirstPause;
    while ((__atomic_load_n(control, __ATOMIC_ACQUIRE) & (kUnderWay | kDone)) == kUnderWay)
      let_others_run(&pause);
  }
  return g_once(control, function);
}

}  // namespace

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
  Held* held = find_held(m);
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

// The C library's own calls an internal of its.
FGMPI_INTERPOSE void call_once(once_flag* flag, void (*function)()) {
  static_assert(sizeof(once_flag) == sizeof(pthread_once_t));
  once(reinterpret_cast<pthread_once_t*>(flag), function);
}
