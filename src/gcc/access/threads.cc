// Wrappers of the functions by which threads are made and wait for each other: POSIX threads, C11's
// and those of C++'s library. mpicc -check links the program's calls to them (ld --wrap), and the
// checker learns what they order. check.wraps lists them.
//
// The functions behind __real_ are weak: a program need not be linked with all of them.
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include <cerrno>

#include "gcc/access/order.h"

using fgmpi::access::await;
using fgmpi::access::await_value;
using fgmpi::access::has_order;
using fgmpi::access::Sync;
using fgmpi::access::tell;
using fgmpi::access::WakesAfterwards;

/// The head of __wrap_NAME, after declaring __real_NAME.
#define WRAP_SYNC(result, name, parameters)                 \
  extern "C" [[gnu::weak]] result __real_##name parameters; \
  FGMPI_ENTRY result __wrap_##name parameters

// ---- Locks --------------------------------------------------------------------------------------
/// A function that has got the lock if it returns one of these.
#define LOCKS(name, parameters, arguments, lock, success) \
  WRAP_SYNC(int, name, parameters) {                      \
    const int result = __real_##name arguments;           \
    if (success) tell(Sync::kLock, lock);                 \
    return result;                                        \
  }
#define UNLOCKS(result, name, type)      \
  WRAP_SYNC(result, name, (type lock)) { \
    tell(Sync::kUnlock, lock);           \
    return __real_##name(lock);          \
  }
#define POSIX_LOCKS(name, type) \
  LOCKS(name, (type * lock), (lock), lock, result == 0 || result == EOWNERDEAD)
/// A function that waits for the lock.
#define WAITS_FOR(name, type, success)                                  \
  WRAP_SYNC(int, name, (type * lock)) {                                 \
    tell(Sync::kWants, lock, reinterpret_cast<uintptr_t>(FGMPI_PLACE)); \
    const int result = __real_##name(lock);                             \
    if (success) tell(Sync::kLock, lock);                               \
    return result;                                                      \
  }
#define POSIX_TIMED_LOCKS(name, type) \
  LOCKS(name, (type * lock, const timespec* until), (lock, until), lock, result == 0)
WAITS_FOR(pthread_mutex_lock, pthread_mutex_t, result == 0 || result == EOWNERDEAD)
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
WAITS_FOR(mtx_lock, mtx_t, result == thrd_success)
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

/// A wait for a condition variable gives its lock back, and gets it again.
#define WAITS(name, parameters, arguments)      \
  WRAP_SYNC(int, name, parameters) {            \
    tell(Sync::kUnlock, lock);                  \
    const int result = __real_##name arguments; \
    tell(Sync::kLock, lock);                    \
    tell(Sync::kAcquire, condition);            \
    return result;                              \
  }
WAITS(pthread_cond_timedwait,
      (pthread_cond_t * condition, pthread_mutex_t* lock, const timespec* until),
      (condition, lock, until))
WAITS(pthread_cond_clockwait,
      (pthread_cond_t * condition, pthread_mutex_t* lock, clockid_t clock, const timespec* until),
      (condition, lock, clock, until))
WAITS(cnd_timedwait, (cnd_t * condition, mtx_t* lock, const timespec* until),
      (condition, lock, until))

namespace {

/// Waits for a condition variable without a time limit: `wait`, `lock` and `unlock` are the
/// functions behind it. A wait in the checker may end without a signal, as any may.
template <class Wait, class Lock, class Unlock>
void wait_for_condition(const void* condition, const void* mutex, const void* place, Wait wait,
                        Lock lock, Unlock unlock) {
  tell(Sync::kUnlock, mutex);
  if (has_order() && tell(Sync::kAwaitsCondition, condition, await_value(place, 0))) {
    unlock();
    tell(Sync::kAwait, condition);
    tell(Sync::kWants, mutex, reinterpret_cast<uintptr_t>(place));
    lock();
  } else {
    wait();
  }
  tell(Sync::kLock, mutex);
  tell(Sync::kAcquire, condition);
}

}  // namespace

#define WAITS_WITHOUT_LIMIT(name, mutex, type, lock_type)                               \
  WRAP_SYNC(int, name, (type * condition, lock_type * lock)) {                          \
    int result = 0;                                                                     \
    wait_for_condition(                                                                 \
        condition, lock, FGMPI_PLACE, [&] { result = __real_##name(condition, lock); }, \
        [&] { __real_##mutex##_lock(lock); }, [&] { __real_##mutex##_unlock(lock); });  \
    return result;                                                                      \
  }
WAITS_WITHOUT_LIMIT(pthread_cond_wait, pthread_mutex, pthread_cond_t, pthread_mutex_t)
WAITS_WITHOUT_LIMIT(cnd_wait, mtx, cnd_t, mtx_t)

#define TAKES(name, parameters, arguments)            \
  WRAP_SYNC(int, name, parameters) {                  \
    const int result = __real_##name arguments;       \
    if (result == 0) tell(Sync::kAcquire, semaphore); \
    return result;                                    \
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
  const int error = __real_pthread_join(thread, value);
  if (!error) tell(Sync::kJoined, nullptr, static_cast<uint64_t>(thread));
  return error;
}
WRAP_SYNC(int, thrd_join, (thrd_t thread, int* value)) {
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
  __real__ZNSt6thread4joinEv(thread);
  tell(Sync::kJoined, nullptr, static_cast<uint64_t>(handle));
}
WRAP_SYNC(void, _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE,
          (void* condition, void** lock)) {
  auto* mutex = static_cast<pthread_mutex_t*>(*lock);
  wait_for_condition(
      condition, mutex, FGMPI_PLACE,
      [&] { __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(condition, lock); },
      [&] { __real_pthread_mutex_lock(mutex); }, [&] { __real_pthread_mutex_unlock(mutex); });
}
SIGNALS(void, _ZNSt18condition_variable10notify_oneEv, void*)
SIGNALS(void, _ZNSt18condition_variable10notify_allEv, void*)
