// Wrappers of the functions by which threads are made and wait for each other: POSIX threads, C11's
// and those of C++'s library. mpicc -check links the program's calls to them (ld --wrap), and the
// checker learns what they order. check.wraps lists them.
//
// The functions behind __real_ are weak: a program need not be linked with all of them.
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <cerrno>

#include "gcc/access/order.h"

using fgmpi::access::await;
using fgmpi::access::await_value;
using fgmpi::access::has_order;
using fgmpi::access::kHasLimit;
using fgmpi::access::kIsOwn;
using fgmpi::access::Sync;
using fgmpi::access::tell;
using fgmpi::access::WakesAfterwards;

/// The head of __wrap_NAME, after declaring __real_NAME.
#define WRAP_SYNC(result, name, parameters)                 \
  extern "C" [[gnu::weak]] result __real_##name parameters; \
  FGMPI_ENTRY result __wrap_##name parameters

// ---- Locks --------------------------------------------------------------------------------------
namespace {

/// The strand waits until a time, or tries again at once: waits in the checker before, where the
/// program has done so in vain for long. Returns true if it did and was woken at `object`.
bool await_with_limit(Sync what, const volatile void* object, const void* place) {
  return has_order() && tell(what, object, await_value(place, kHasLimit)) &&
         tell(Sync::kAwait, object);
}

/// Has the calling thread locked this mutex, which does not count its owner's locks? All ranks of a
/// process are one thread here: the checker knows which of them has it.
bool is_locked_by_caller(const pthread_mutex_t* mutex) {
  const int kind = __atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);
  const bool counts =
      (kind & 127) != PTHREAD_MUTEX_TIMED_NP && (kind & 127) != PTHREAD_MUTEX_ADAPTIVE_NP;
  const int owner = __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);
  return !counts && owner != 0 && owner == gettid();
}

/// Leaves errno as it is.
void tell_of_time_out(const volatile void* object, const void* place) {
  const int kept = errno;
  tell(Sync::kTimedOut, object, reinterpret_cast<uintptr_t>(place));
  errno = kept;
}

}  // namespace

/// A function that has got the lock if it returns one of these, and else may be called again.
#define LOCKS(name, parameters, arguments, lock, success)    \
  WRAP_SYNC(int, name, parameters) {                         \
    await_with_limit(Sync::kAwaitsMutex, lock, FGMPI_PLACE); \
    const int result = __real_##name arguments;              \
    if (success)                                             \
      tell(Sync::kLock, lock);                               \
    else                                                     \
      tell_of_time_out(lock, FGMPI_PLACE);                   \
    return result;                                           \
  }
#define UNLOCKS(result, name, type)      \
  WRAP_SYNC(result, name, (type lock)) { \
    tell(Sync::kUnlock, lock);           \
    return __real_##name(lock);          \
  }
#define POSIX_LOCKS(name, type) \
  LOCKS(name, (type * lock), (lock), lock, result == 0 || result == EOWNERDEAD)
/// A function that waits for the lock. `own`: it would wait for the calling thread itself.
#define WAITS_FOR_OR_OWN(name, type, success, own)                          \
  WRAP_SYNC(int, name, (type * lock)) {                                     \
    tell(Sync::kWants, lock, await_value(FGMPI_PLACE, (own) ? kIsOwn : 0)); \
    const int result = __real_##name(lock);                                 \
    if (success) tell(Sync::kLock, lock);                                   \
    return result;                                                          \
  }
#define WAITS_FOR(name, type, success) WAITS_FOR_OR_OWN(name, type, success, false)
#define POSIX_TIMED_LOCKS(name, type) \
  LOCKS(name, (type * lock, const timespec* until), (lock, until), lock, result == 0)
WAITS_FOR_OR_OWN(pthread_mutex_lock, pthread_mutex_t, result == 0 || result == EOWNERDEAD,
                 is_locked_by_caller(lock))
POSIX_LOCKS(pthread_mutex_trylock, pthread_mutex_t)
POSIX_TIMED_LOCKS(pthread_mutex_timedlock, pthread_mutex_t)
LOCKS(pthread_mutex_clocklock, (pthread_mutex_t * lock, clockid_t clock, const timespec* until),
      (lock, clock, until), lock, result == 0)
UNLOCKS(int, pthread_mutex_unlock, pthread_mutex_t*)
WAITS_FOR(pthread_rwlock_rdlock, pthread_rwlock_t, result == 0 || result == EOWNERDEAD)
POSIX_LOCKS(pthread_rwlock_tryrdlock, pthread_rwlock_t)
POSIX_TIMED_LOCKS(pthread_rwlock_timedrdlock, pthread_rwlock_t)
WAITS_FOR(pthread_rwlock_wrlock, pthread_rwlock_t, result == 0 || result == EOWNERDEAD)
POSIX_LOCKS(pthread_rwlock_trywrlock, pthread_rwlock_t)
POSIX_TIMED_LOCKS(pthread_rwlock_timedwrlock, pthread_rwlock_t)
UNLOCKS(int, pthread_rwlock_unlock, pthread_rwlock_t*)
WAITS_FOR(pthread_spin_lock, pthread_spinlock_t volatile, result == 0 || result == EOWNERDEAD)
POSIX_LOCKS(pthread_spin_trylock, pthread_spinlock_t volatile)
UNLOCKS(int, pthread_spin_unlock, pthread_spinlock_t volatile*)
// The C library's mtx_t is a mutex of POSIX.
WAITS_FOR_OR_OWN(mtx_lock, mtx_t, result == thrd_success,
                 is_locked_by_caller(reinterpret_cast<const pthread_mutex_t*>(lock)))
LOCKS(mtx_trylock, (mtx_t * lock), (lock), lock, result == thrd_success)
LOCKS(mtx_timedlock, (mtx_t * lock, const timespec* until), (lock, until), lock,
      result == thrd_success)
UNLOCKS(int, mtx_unlock, mtx_t*)

// ---- Condition variables, semaphores, barriers --------------------------------------------------
#define SIGNALS(result, name, type)           \
  WRAP_SYNC(result, name, (type condition)) { \
    tell(Sync::kRelease, condition);          \
    const WakesAfterwards wakes(condition);   \
    return __real_##name(condition);          \
  }
SIGNALS(int, pthread_cond_signal, pthread_cond_t*)
SIGNALS(int, pthread_cond_broadcast, pthread_cond_t*)
SIGNALS(int, cnd_signal, cnd_t*)
SIGNALS(int, cnd_broadcast, cnd_t*)
SIGNALS(int, sem_post, sem_t*)

namespace {

/// The functions behind a wait for a condition variable, which gives its lock back, and gets it
/// again. `has_limit`: it ends at a time, without success if wait() returns `timed_out`.
template <class Wait, class Lock, class Unlock>
struct ConditionWait {
  Wait wait;
  Lock lock;
  Unlock unlock;
  bool has_limit = false;
  int timed_out = 0;
};
template <class Wait, class Lock, class Unlock>
ConditionWait(Wait, Lock, Unlock, bool = false, int = 0) -> ConditionWait<Wait, Lock, Unlock>;

/// Waits for a condition variable. A wait in the checker may end without a signal, as any may.
template <class Functions>
int wait_for_condition(const void* condition, const void* mutex, const void* place,
                       const Functions& of) {
  tell(Sync::kUnlock, mutex);
  int result = 0;
  bool waits = true;
  const int limit = of.has_limit ? kHasLimit : 0;
  if (has_order() && tell(Sync::kAwaitsCondition, condition, await_value(place, limit))) {
    of.unlock();
    waits = !tell(Sync::kAwait, condition) && of.has_limit;
    tell(Sync::kWants, mutex, reinterpret_cast<uintptr_t>(place));
    of.lock();
  }
  if (waits) result = of.wait();
  tell(Sync::kLock, mutex);
  tell(Sync::kAcquire, condition);
  if (of.has_limit && result == of.timed_out) tell_of_time_out(condition, place);
  return result;
}

}  // namespace

#define WAITS(name, mutex, parameters, arguments, ...)                                     \
  WRAP_SYNC(int, name, parameters) {                                                       \
    return wait_for_condition(                                                             \
        condition, lock, FGMPI_PLACE,                                                      \
        ConditionWait{[&] { return __real_##name arguments; },                             \
                      [&] { __real_##mutex##_lock(lock); },                                \
                      [&] { __real_##mutex##_unlock(lock); } __VA_OPT__(, ) __VA_ARGS__}); \
  }
WAITS(pthread_cond_wait, pthread_mutex, (pthread_cond_t * condition, pthread_mutex_t* lock),
      (condition, lock))
WAITS(pthread_cond_timedwait, pthread_mutex,
      (pthread_cond_t * condition, pthread_mutex_t* lock, const timespec* until),
      (condition, lock, until), true, ETIMEDOUT)
WAITS(pthread_cond_clockwait, pthread_mutex,
      (pthread_cond_t * condition, pthread_mutex_t* lock, clockid_t clock, const timespec* until),
      (condition, lock, clock, until), true, ETIMEDOUT)
WAITS(cnd_wait, mtx, (cnd_t * condition, mtx_t* lock), (condition, lock))
WAITS(cnd_timedwait, mtx, (cnd_t * condition, mtx_t* lock, const timespec* until),
      (condition, lock, until), true, thrd_timedout)

#define TAKES(name, parameters, arguments)                            \
  WRAP_SYNC(int, name, parameters) {                                  \
    await_with_limit(Sync::kAwaitsSemaphore, semaphore, FGMPI_PLACE); \
    const int result = __real_##name arguments;                       \
    if (result == 0)                                                  \
      tell(Sync::kAcquire, semaphore);                                \
    else                                                              \
      tell_of_time_out(semaphore, FGMPI_PLACE);                       \
    return result;                                                    \
  }
TAKES(sem_trywait, (sem_t * semaphore), (semaphore))
TAKES(sem_timedwait, (sem_t * semaphore, const timespec* until), (semaphore, until))
TAKES(sem_clockwait, (sem_t * semaphore, clockid_t clock, const timespec* until),
      (semaphore, clock, until))

WRAP_SYNC(int, sem_wait, (sem_t * semaphore)) {
  int result = -1;
  while (has_order() && tell(Sync::kAwaitsSemaphore, semaphore, await_value(FGMPI_PLACE, 0))) {
    result = __real_sem_trywait(semaphore);
    if (result == 0) break;
    tell(Sync::kAwait, semaphore);
  }
  if (result != 0) result = __real_sem_wait(semaphore);
  if (result == 0) tell(Sync::kAcquire, semaphore);
  return result;
}

WRAP_SYNC(int, pthread_barrier_init,
          (pthread_barrier_t * barrier, const pthread_barrierattr_t* attributes, unsigned count)) {
  tell(Sync::kBarrierMade, barrier, count);
  return __real_pthread_barrier_init(barrier, attributes, count);
}
WRAP_SYNC(int, pthread_barrier_wait, (pthread_barrier_t * barrier)) {
  const uint64_t number = tell(Sync::kBarrierArrive, barrier);
  await(Sync::kAwaitsBarrier, barrier, FGMPI_PLACE);
  const int result = __real_pthread_barrier_wait(barrier);
  tell(Sync::kBarrierLeave, barrier, number);
  return result;
}

// ---- Once ---------------------------------------------------------------------------------------
namespace {

/// What the calling thread gives to pthread_once(), whose functions have no argument.
thread_local void (*t_once)() = nullptr;
thread_local const void* t_control = nullptr;

void run_once() {
  const void* control = t_control;
  t_once();
  tell(Sync::kRelease, control);
}

}  // namespace

#define ONCE(result, name, type, end)                             \
  WRAP_SYNC(result, name, (type * control, void (*function)())) { \
    if (!has_order()) return __real_##name(control, function);    \
    t_once = function;                                            \
    t_control = control;                                          \
    end __real_##name(control, run_once);                         \
    tell(Sync::kAcquire, control);
ONCE(int, pthread_once, pthread_once_t, const int error =)
return error;
}
ONCE(void, call_once, once_flag, )
}

// ---- Threads ------------------------------------------------------------------------------------
namespace {

/// What a new thread is to do.
template <class Function>
struct ThreadStart {
  Function function;
  void* argument;
  uint64_t number;
};

template <class Result>
Result begin_thread(void* of) {
  auto* start = static_cast<ThreadStart<Result (*)(void*)>*>(of);
  const auto copy = *start;
  __builtin_free(start);
  tell(Sync::kThreadBegins, nullptr, copy.number);
  return copy.function(copy.argument);
}

template <class Function>
ThreadStart<Function>* start_of(Function function, void* argument) {
  auto* start =
      static_cast<ThreadStart<Function>*>(__builtin_malloc(sizeof(ThreadStart<Function>)));
  if (start) *start = {function, argument, tell(Sync::kThread, nullptr)};
  return start;
}

}  // namespace

WRAP_SYNC(int, pthread_create,
          (pthread_t * thread, const pthread_attr_t* attributes, void* (*function)(void*),
           void* argument)) {
  auto* start = has_order() ? start_of(function, argument) : nullptr;
  if (!start) return __real_pthread_create(thread, attributes, function, argument);
  const int error = __real_pthread_create(thread, attributes, begin_thread<void*>, start);
  if (error) __builtin_free(start);
  return error;
}
WRAP_SYNC(int, thrd_create, (thrd_t * thread, thrd_start_t function, void* argument)) {
  auto* start = has_order() ? start_of(function, argument) : nullptr;
  if (!start) return __real_thrd_create(thread, function, argument);
  const int error = __real_thrd_create(thread, begin_thread<int>, start);
  if (error != thrd_success) __builtin_free(start);
  return error;
}
WRAP_SYNC(int, pthread_join, (pthread_t thread, void** value)) {
  tell(Sync::kAwaitsThread, nullptr, await_value(FGMPI_PLACE, 0));
  const int error = __real_pthread_join(thread, value);
  if (!error) tell(Sync::kJoined, nullptr, static_cast<uint64_t>(thread));
  return error;
}
WRAP_SYNC(int, thrd_join, (thrd_t thread, int* value)) {
  tell(Sync::kAwaitsThread, nullptr, await_value(FGMPI_PLACE, 0));
  const int error = __real_thrd_join(thread, value);
  if (error == thrd_success) tell(Sync::kJoined, nullptr, static_cast<uint64_t>(thread));
  return error;
}

// C++'s library makes and joins threads, and waits for condition variables, in functions of its
// own. std::thread holds nothing but the handle; std::unique_lock begins with its mutex.
WRAP_SYNC(void,
          _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE,
          (void* thread, void* state, void (*depend)())) {
  tell(Sync::kThread, nullptr);
  __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
      thread, state, depend);
}
WRAP_SYNC(void, _ZNSt6thread4joinEv, (pthread_t * thread)) {
  const pthread_t handle = *thread;
  tell(Sync::kAwaitsThread, nullptr, await_value(FGMPI_PLACE, 0));
  __real__ZNSt6thread4joinEv(thread);
  tell(Sync::kJoined, nullptr, static_cast<uint64_t>(handle));
}
WRAP_SYNC(void, _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE,
          (void* condition, void** lock)) {
  auto* mutex = static_cast<pthread_mutex_t*>(*lock);
  wait_for_condition(
      condition, mutex, FGMPI_PLACE,
      ConditionWait{
          [&] {
            __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(condition, lock);
            return 0;
          },
          [&] { __real_pthread_mutex_lock(mutex); }, [&] { __real_pthread_mutex_unlock(mutex); }});
}
SIGNALS(void, _ZNSt18condition_variable10notify_oneEv, void*)
SIGNALS(void, _ZNSt18condition_variable10notify_allEv, void*)

// ---- Words that threads wait for ----------------------------------------------------------------
// Atomic variables, barriers, latches and semaphores of C++ wait by syscall() in headers, futures
// in functions of the library. Callers compare the word again, so a wait may end early.
namespace {

/// The strand is about to wait until the word is no longer `value`. Returns true if it has waited
/// in the checker.
bool await_word(const void* word, uint32_t value, const void* place, bool has_limit) {
  if (!has_order() || !tell(Sync::kAwaitsWord, word, await_value(place, has_limit ? kHasLimit : 0)))
    return false;
  if (__atomic_load_n(static_cast<const uint32_t*>(word), __ATOMIC_ACQUIRE) == value)
    tell(Sync::kAwait, word);
  return true;
}

/// A wait for a word has ended. Leaves errno as it is.
void tell_of_word(const void* word, const void* place, bool timed_out) {
  const int kept = errno;
  tell(Sync::kAcquire, word);
  if (timed_out) tell_of_time_out(word, place);
  errno = kept;
}

}  // namespace

WRAP_SYNC(long, syscall, (long number, long a, long b, long c, long d, long e, long f)) {
  const long command = b & FUTEX_CMD_MASK;
  const bool wakes = command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET;
  const bool waits = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
  const auto* word = reinterpret_cast<const void*>(a);
  if (number != SYS_futex || (!wakes && !waits) || !has_order())
    return __real_syscall(number, a, b, c, d, e, f);
  if (wakes) {
    const long woken = __real_syscall(number, a, b, c, d, e, f);
    tell(Sync::kWake, word);
    return woken;
  }
  long result = 0;
  if (!await_word(word, static_cast<uint32_t>(c), FGMPI_PLACE, d != 0) || d != 0)
    result = __real_syscall(number, a, b, c, d, e, f);
  tell_of_word(word, FGMPI_PLACE, result != 0 && errno == ETIMEDOUT);
  return result;
}

#define WAITS_FOR_FUTURE(name)                                                             \
  WRAP_SYNC(bool, name,                                                                    \
            (void* of, unsigned* word, unsigned value, bool has_limit, long s, long ns)) { \
    bool changed = true;                                                                   \
    if (!await_word(word, value, FGMPI_PLACE, has_limit) || has_limit)                     \
      changed = __real_##name(of, word, value, has_limit, s, ns);                          \
    tell_of_word(word, FGMPI_PLACE, !changed);                                             \
    return changed;                                                                        \
  }
/// Joins the two parts of a name.
#define WAITS_FOR_FUTURE_OF(name, parameters) WAITS_FOR_FUTURE(name##parameters)
WAITS_FOR_FUTURE_OF(_ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_until,
                    EPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE)
WAITS_FOR_FUTURE_OF(_ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_steady,
                    EPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE)
WRAP_SYNC(void, _ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj,
          (void* of, unsigned* word)) {
  __real__ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj(of, word);
  tell(Sync::kWake, word);
}
