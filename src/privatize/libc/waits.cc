// Waiting for one's threads: while a rank waits on the scheduler's thread for a mutex, a condition
// variable, a read-write lock, a barrier, a semaphore or a futex, the other ranks of the process
// run.
//
//   not several ranks, or not on a proclet --> the C library's function, and nothing else
//   a try succeeds without waiting         --> done
//   else                                   --> another thread calls the C library's function;
//                                              the proclet is parked until it has returned
//
// A recorded run (mpiexec -record) has one thread: there the rank tries again after turns of other
// ranks. Its wait for a condition ends after one turn, as if it had been woken for nothing.
//
// Owners. The C library records the thread as the owner of recursive and error-checking mutexes,
// and of a read-write lock that is held for writing; but the ranks of a process share a thread. So
// a proclet that gets such a lock overwrites the owner with a number of its own, which no thread
// has, and writes the thread's number back before it unlocks. For other ranks, the C library then
// sees a lock of another owner, and waits or refuses as if another thread held it. A lock that
// another thread has acquired for the proclet becomes the proclet's in the same way. The fields are
// those of <bits/struct_mutex.h> and <bits/struct_rwlock.h>, which the C library cannot change
// because static initialisers depend on them.
//
// thread_waits.cc has robust mutexes, mutexes with priorities (PTHREAD_PRIO_*) and pthread_once.
// Thread rule: any thread.
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <type_traits>

#include "base/modules.h"
#include "base/raw_call.h"
#include "base/recorded_memory.h"
#include "privatize/image/allocator.h"
#include "privatize/image/images.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/libc/handlers.h"
#include "privatize/libc/outside_calls.h"
#include "privatize/libc/waits.h"
#include "privatize/load/guests.h"
#include "proclet-sched/threads/blocking.h"

namespace fgmpi::privatize {
namespace {

#define FGMPI_REAL(name, ...) constinit Real<__VA_ARGS__> g_##name(#name)
using Mutex = pthread_mutex_t;
using Cond = pthread_cond_t;
using Rwlock = pthread_rwlock_t;
using Barrier = pthread_barrier_t;
FGMPI_REAL(pthread_mutex_lock, int(Mutex*));
FGMPI_REAL(pthread_mutex_trylock, int(Mutex*));
FGMPI_REAL(pthread_mutex_timedlock, int(Mutex*, const timespec*));
FGMPI_REAL(pthread_mutex_clocklock, int(Mutex*, clockid_t, const timespec*));
FGMPI_REAL(pthread_mutex_unlock, int(Mutex*));
FGMPI_REAL(pthread_cond_wait, int(Cond*, Mutex*));
FGMPI_REAL(pthread_cond_timedwait, int(Cond*, Mutex*, const timespec*));
FGMPI_REAL(pthread_cond_clockwait, int(Cond*, Mutex*, clockid_t, const timespec*));
FGMPI_REAL(pthread_rwlock_rdlock, int(Rwlock*));
FGMPI_REAL(pthread_rwlock_tryrdlock, int(Rwlock*));
FGMPI_REAL(pthread_rwlock_timedrdlock, int(Rwlock*, const timespec*));
FGMPI_REAL(pthread_rwlock_clockrdlock, int(Rwlock*, clockid_t, const timespec*));
FGMPI_REAL(pthread_rwlock_wrlock, int(Rwlock*));
FGMPI_REAL(pthread_rwlock_trywrlock, int(Rwlock*));
FGMPI_REAL(pthread_rwlock_timedwrlock, int(Rwlock*, const timespec*));
FGMPI_REAL(pthread_rwlock_clockwrlock, int(Rwlock*, clockid_t, const timespec*));
FGMPI_REAL(pthread_rwlock_unlock, int(Rwlock*));
FGMPI_REAL(pthread_barrier_init, int(Barrier*, const pthread_barrierattr_t*, unsigned));
FGMPI_REAL(pthread_barrier_wait, int(Barrier*));
FGMPI_REAL(pthread_barrier_destroy, int(Barrier*));
FGMPI_REAL(sem_wait, int(sem_t*));
FGMPI_REAL(sem_timedwait, int(sem_t*, const timespec*));
FGMPI_REAL(sem_clockwait, int(sem_t*, clockid_t, const timespec*));
FGMPI_REAL(mtx_lock, int(mtx_t*));
FGMPI_REAL(mtx_trylock, int(mtx_t*));
FGMPI_REAL(mtx_timedlock, int(mtx_t*, const timespec*));
FGMPI_REAL(mtx_unlock, int(mtx_t*));
FGMPI_REAL(cnd_wait, int(cnd_t*, mtx_t*));
FGMPI_REAL(cnd_timedwait, int(cnd_t*, mtx_t*, const timespec*));
#undef FGMPI_REAL

// ---- Owners -------------------------------------------------------------------------------------

/// Owner numbers of ranks and of helpers: above all numbers of threads (the kernel's PID_MAX_LIMIT
/// is 2^22).
constexpr int kRankOwner = 1 << 30, kHelperOwner = kRankOwner | 1 << 29;

int own_thread_id() {
  const sched::Proclet* p = sched::running();
  if (p->kind == sched::ProcletKind::kRank) return kRankOwner | static_cast<int>(world_rank(p));
  return kHelperOwner | static_cast<int>(p->index);
}

template <class T>
T read(const T& field) {
  return __atomic_load_n(&field, __ATOMIC_RELAXED);
}

/// The number that the C library writes into locks of this thread. It differs from that of gettid()
/// when a recorded run is repeated: there gettid() answers as it did in the recorded run.
int number_of_thread() {
  static thread_local int t_number [[gnu::tls_model("initial-exec")]] = 0;
  if (t_number == 0) {
    Mutex asked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    g_pthread_mutex_trylock(&asked);
    t_number = read(asked.__data.__owner);
    g_pthread_mutex_unlock(&asked);
  }
  return t_number;
}

template <class T>
void write(T* field, T value) {
  __atomic_store_n(field, value, __ATOMIC_RELAXED);
}

enum class MutexKind { kPlain, kOwned, kOfKernel };
constexpr int kKindBits = 127;
int kind_bits(const Mutex* m) { return read(m->__data.__kind) & kKindBits; }
MutexKind kind_of(const Mutex* m) {
  switch (kind_bits(m)) {
    case PTHREAD_MUTEX_TIMED_NP:
    case PTHREAD_MUTEX_ADAPTIVE_NP:
      return MutexKind::kPlain;
    case PTHREAD_MUTEX_RECURSIVE_NP:
    case PTHREAD_MUTEX_ERRORCHECK_NP:
      return MutexKind::kOwned;
    default:
      return MutexKind::kOfKernel;
  }
}
bool is_recursive(const Mutex* m) { return kind_bits(m) == PTHREAD_MUTEX_RECURSIVE_NP; }

int lock_again(Mutex* m) {
  if (m->__data.__count == UINT_MAX) return EAGAIN;
  ++m->__data.__count;
  return 0;
}

/// The time limit of a wait: a time of that clock; nullptr: none.
struct Until {
  clockid_t clock = CLOCK_REALTIME;
  const timespec* time = nullptr;
};

/// Waits where `attempt` has returned EBUSY: until another thread has returned from wait(), or, in
/// a recorded run, until `attempt` succeeds, or the time limit. May switch.
template <class Attempt, class Wait>
int wait_until_free(const char* call, Until until, Attempt attempt, Wait wait) {
  if (!is_recorded_run()) return wait_on_other_thread(call, wait);
  if (until.time && !is_valid_time(until.time)) return EINVAL;
  for (int64_t pause = kFirstPause;;) {
    let_others_run(&pause, until.clock, until.time);
    const int result = attempt();
    if (result != EBUSY) return result;
    if (until.time && is_over(until.clock, until.time)) return ETIMEDOUT;
  }
}

/// Locks a mutex for the running proclet. `lock` is the C library's function that waits until the
/// time limit. May switch.
template <class Lock>
int lock_mutex(const char* call, Mutex* m, Until until, Lock lock) {
  const MutexKind kind = kind_of(m);
  if (kind == MutexKind::kOfKernel) return lock_thread_mutex(m, until.clock, until.time);
  if (kind == MutexKind::kPlain) {
    auto attempt = [=] { return g_pthread_mutex_trylock(m); };
    const int result = attempt();
    return result == EBUSY ? wait_until_free(call, until, attempt, lock) : result;
  }
  const int self = own_thread_id(), owner = read(m->__data.__owner);
  if (owner == self) return is_recursive(m) ? lock_again(m) : EDEADLK;
  if (owner == number_of_thread()) return lock();  // the thread has locked it before ranks began
  auto attempt = [=] {
    const int result = g_pthread_mutex_trylock(m);
    if (result == 0) write(&m->__data.__owner, self);
    return result;
  };
  const int result = attempt();
  if (result != EBUSY) return result;
  // The other thread makes the proclet the owner at once: the same thread may have to wait for the
  // same mutex again before the proclet runs.
  return wait_until_free(call, until, attempt, [&] {
    const int late = lock();
    if (late == 0) write(&m->__data.__owner, self);
    return late;
  });
}

int try_mutex(Mutex* m) {
  const MutexKind kind = kind_of(m);
  if (kind == MutexKind::kOfKernel) return try_thread_mutex(m);
  if (kind == MutexKind::kPlain) return g_pthread_mutex_trylock(m);
  const int self = own_thread_id(), owner = read(m->__data.__owner);
  if (owner == self) return is_recursive(m) ? lock_again(m) : EBUSY;
  const int result = g_pthread_mutex_trylock(m);
  if (result == 0 && owner != number_of_thread()) write(&m->__data.__owner, self);
  return result;
}

int unlock_mutex(Mutex* m) {
  const MutexKind kind = kind_of(m);
  if (kind == MutexKind::kOfKernel) return unlock_thread_mutex(m);
  if (kind == MutexKind::kPlain) return g_pthread_mutex_unlock(m);
  const int self = own_thread_id();
  if (read(m->__data.__owner) != self) return g_pthread_mutex_unlock(m);
  if (is_recursive(m) && m->__data.__count > 1) {
    --m->__data.__count;
    return 0;
  }
  write(&m->__data.__owner, number_of_thread());
  return g_pthread_mutex_unlock(m);
}

/// The clock of a condition variable: a bit that static initialisers leave unset.
clockid_t clock_of(const Cond* c) {
  constexpr unsigned kMonotonic = 2;
  return read(c->__data.__wrefs) & kMonotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

/// Waits for a condition variable in a recorded run: the rank unlocks the mutex for a turn of
/// others, and returns as if it had been woken. May switch.
int wait_one_turn(const char* call, Mutex* m, Until until) {
  if (until.time && !is_valid_time(until.time)) return EINVAL;
  if (const int unlocked = unlock_mutex(m)) return unlocked;
  int64_t pause = kLongestPause / 4;
  let_others_run(&pause, until.clock, until.time);
  const bool over = until.time && is_over(until.clock, until.time);
  const int locked = lock_mutex(call, m, {}, [=] { return g_pthread_mutex_lock(m); });
  return locked ? locked : over ? ETIMEDOUT : 0;
}

/// Waits for a condition variable. `wait` is the C library's function, which unlocks and locks the
/// mutex as the calling thread's. May switch.
template <class Wait>
int wait_for_condition(const char* call, Mutex* m, Until until, Wait wait) {
  const MutexKind kind = kind_of(m);
  if (kind != MutexKind::kOfKernel && is_recorded_run()) return wait_one_turn(call, m, until);
  if (kind == MutexKind::kPlain) return wait_on_other_thread(call, wait);
  if (kind == MutexKind::kOfKernel) return wait_with_thread_mutex(m, until.clock, until.time);
  const int self = own_thread_id();
  if (read(m->__data.__owner) != self) return wait();
  return wait_on_other_thread(call, [&] {
    write(&m->__data.__owner, number_of_thread());
    const int result = wait();
    write(&m->__data.__owner, self);
    return result;
  });
}

/// Acquires a read-write lock for reading. `lock` is the C library's function that waits.
/// May switch.
template <class Lock>
int lock_for_reading(const char* call, Rwlock* l, Until until, Lock lock) {
  if (read(l->__data.__cur_writer) == own_thread_id()) return EDEADLK;
  auto attempt = [=] { return g_pthread_rwlock_tryrdlock(l); };
  const int result = attempt();
  return result == EBUSY ? wait_until_free(call, until, attempt, lock) : result;
}

template <class Lock>
int lock_for_writing(const char* call, Rwlock* l, Until until, Lock lock) {
  const int self = own_thread_id();
  if (read(l->__data.__cur_writer) == self) return EDEADLK;
  auto attempt = [=] {
    const int result = g_pthread_rwlock_trywrlock(l);
    if (result == 0) write(&l->__data.__cur_writer, self);
    return result;
  };
  const int result = attempt();
  if (result != EBUSY) return result;
  return wait_until_free(call, until, attempt, [&] {
    const int late = lock();
    if (late == 0) write(&l->__data.__cur_writer, self);
    return late;
  });
}

// ---- Barriers -----------------------------------------------------------------------------------

/// The barrier of processes with several ranks, in place of the C library's. The last caller to
/// arrive must not wait, and the C library does not show beforehand which caller that is. The C
/// library uses the first 20 bytes of pthread_barrier_t.
struct OwnBarrier {
  uint32_t generation;
  uint32_t arrived;
  uint32_t inside;  ///< callers that have not left yet
  uint32_t count;
  uint64_t reserved;
  uint64_t mark;
};
static_assert(sizeof(OwnBarrier) <= sizeof(pthread_barrier_t));
constexpr uint64_t kBarrierMark = 0x8d2f61c4b07e935a;

OwnBarrier* own(Barrier* b) {
  auto* barrier = reinterpret_cast<OwnBarrier*>(b);
  return barrier->mark == kBarrierMark ? barrier : nullptr;
}

/// The system call futex, for threads of this process. Returns the kernel's answer.
long futex(uint32_t* word, int operation, uint32_t value) {
  return raw_call(SYS_futex, reinterpret_cast<long>(word), operation | FUTEX_PRIVATE_FLAG, value);
}

/// What threads do before they arrive is visible to those that leave: each change of `arrived`
/// passes it on, and the store of `generation` releases it to the loads of those that wait.
int wait_at(OwnBarrier* b) {
  __atomic_fetch_add(&b->inside, 1, __ATOMIC_ACQ_REL);
  const uint32_t generation = __atomic_load_n(&b->generation, __ATOMIC_ACQUIRE);
  int result = 0;
  if (__atomic_add_fetch(&b->arrived, 1, __ATOMIC_ACQ_REL) == b->count) {
    __atomic_store_n(&b->arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&b->generation, generation + 1, __ATOMIC_RELEASE);
    futex(&b->generation, FUTEX_WAKE, INT_MAX);
    result = PTHREAD_BARRIER_SERIAL_THREAD;
  } else {
    auto wait = [=] {
      while (__atomic_load_n(&b->generation, __ATOMIC_ACQUIRE) == generation)
        futex(&b->generation, FUTEX_WAIT, generation);
      return 0;
    };
    int64_t pause = kFirstPause;
    if (on_proclet_among_others() && is_recorded_run())
      while (__atomic_load_n(&b->generation, __ATOMIC_ACQUIRE) == generation)
        let_others_run(&pause);
    else if (on_proclet_among_others())
      wait_on_other_thread("pthread_barrier_wait", wait);
    else
      wait();
  }
  __atomic_fetch_sub(&b->inside, 1, __ATOMIC_RELEASE);
  return result;
}

// ---- C11 ----------------------------------------------------------------------------------------

static_assert(sizeof(mtx_t) == sizeof(Mutex) && sizeof(cnd_t) == sizeof(Cond));
Mutex* posix(mtx_t* m) { return reinterpret_cast<Mutex*>(m); }
Cond* posix(cnd_t* c) { return reinterpret_cast<Cond*>(c); }

int c11(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case EBUSY:
      return thrd_busy;
    case ETIMEDOUT:
      return thrd_timedout;
    case ENOMEM:
      return thrd_nomem;
    default:
      return thrd_error;
  }
}

/// The result of a function that reports errors by errno: -1, or 0 where `error` is 0.
int with_errno(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

/// The C library's layout of a semaphore, on systems with 64-bit atomics.
struct SemaphoreFields {
  uint64_t value_and_waiters;
  int shared;  ///< 0: only threads of one process use it
  int padding;
};
static_assert(sizeof(SemaphoreFields) <= sizeof(sem_t));
bool is_shared(const sem_t* s) { return reinterpret_cast<const SemaphoreFields*>(s)->shared != 0; }

/// Waits for a semaphore. `wait` is the C library's function. Another thread calls it where the
/// rank has no signal handlers: a handler could not end the wait there. For a semaphore that
/// processes share the rank tries again after pauses instead: all ranks of this process may wait,
/// and would need a thread each. May switch.
template <class Wait>
int wait_for_semaphore(const char* call, sem_t* s, Until until, Wait wait) {
  const int kept = errno;
  if (sem_trywait(s) == 0) return 0;
  if (errno != EAGAIN) return -1;
  errno = kept;
  if (until.time && !is_valid_time(until.time)) return wait();
  if (!is_shared(s) && !rank_has_handlers() && !is_recorded_run())
    return with_errno(wait_on_other_thread(call, [&] { return wait() == 0 ? 0 : errno; }));
  OutsideWait look(call, OutsideWait::kRestarted,
                   until.time ? deadline_at(until.clock, until.time) : kNever);
  while (may_try_again(look.a_while(), ETIMEDOUT)) {
    if (sem_trywait(s) == 0) return errno = kept, 0;
    if (errno != EAGAIN) break;
  }
  return -1;
}

}  // namespace

bool is_thread_local(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (const ElfModule& module : g_images.modules()) {
    void* live = module.tls() ? thread_local_block(module) : nullptr;
    if (live && at - reinterpret_cast<uintptr_t>(live) < module.tls()->p_memsz) return true;
  }
  return false;
}

bool waits_on_futex(long word, long operation) {
  const long command = operation & FUTEX_CMD_MASK;
  return (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) && on_proclet_among_others() &&
         !is_thread_local(reinterpret_cast<const void*>(word));
}

long wait_on_futex(long word, long operation, long value, long timeout, long word2, long value3) {
  if (__atomic_load_n(reinterpret_cast<uint32_t*>(word), __ATOMIC_ACQUIRE) !=
      static_cast<uint32_t>(value))
    return -EAGAIN;
  return wait_on_other_thread(
      "futex", [=] { return raw_call(SYS_futex, word, operation, value, timeout, word2, value3); });
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

// An allocator locks mutexes in free(), and dlsym() frees the text of the thread's last error. If a
// mutex function were first looked up within free(), the look-up would look it up again, endlessly.
[[gnu::constructor]] static void prepare_for_allocators() {
  find_allocator_modules();
  g_pthread_mutex_lock.prepare();
  g_pthread_mutex_trylock.prepare();
  g_pthread_mutex_unlock.prepare();
}

#define FGMPI_IF_ALONE(...) \
  if (!on_proclet_among_others() || in_allocator(__builtin_return_address(0))) return __VA_ARGS__

FGMPI_INTERPOSE int pthread_mutex_lock(Mutex* m) noexcept {
  FGMPI_IF_ALONE(g_pthread_mutex_lock(m));
  return lock_mutex("pthread_mutex_lock", m, {}, [=] { return g_pthread_mutex_lock(m); });
}

FGMPI_INTERPOSE int pthread_mutex_trylock(Mutex* m) noexcept {
  FGMPI_IF_ALONE(g_pthread_mutex_trylock(m));
  return try_mutex(m);
}

FGMPI_INTERPOSE int pthread_mutex_timedlock(Mutex* m, const timespec* t) noexcept {
  FGMPI_IF_ALONE(g_pthread_mutex_timedlock(m, t));
  return lock_mutex("pthread_mutex_timedlock", m, {CLOCK_REALTIME, t},
                    [=] { return g_pthread_mutex_timedlock(m, t); });
}

FGMPI_INTERPOSE int pthread_mutex_clocklock(Mutex* m, clockid_t clock, const timespec* t) noexcept {
  FGMPI_IF_ALONE(g_pthread_mutex_clocklock(m, clock, t));
  return lock_mutex("pthread_mutex_clocklock", m, {clock, t},
                    [=] { return g_pthread_mutex_clocklock(m, clock, t); });
}

FGMPI_INTERPOSE int pthread_mutex_unlock(Mutex* m) noexcept {
  FGMPI_IF_ALONE(g_pthread_mutex_unlock(m));
  return unlock_mutex(m);
}

FGMPI_INTERPOSE int pthread_cond_wait(Cond* c, Mutex* m) {
  FGMPI_IF_ALONE(g_pthread_cond_wait(c, m));
  return wait_for_condition("pthread_cond_wait", m, {}, [=] { return g_pthread_cond_wait(c, m); });
}

FGMPI_INTERPOSE int pthread_cond_timedwait(Cond* c, Mutex* m, const timespec* t) {
  FGMPI_IF_ALONE(g_pthread_cond_timedwait(c, m, t));
  return wait_for_condition("pthread_cond_timedwait", m, {clock_of(c), t},
                            [=] { return g_pthread_cond_timedwait(c, m, t); });
}

FGMPI_INTERPOSE int pthread_cond_clockwait(Cond* c, Mutex* m, clockid_t clock, const timespec* t) {
  FGMPI_IF_ALONE(g_pthread_cond_clockwait(c, m, clock, t));
  return wait_for_condition("pthread_cond_clockwait", m, {clock, t},
                            [=] { return g_pthread_cond_clockwait(c, m, clock, t); });
}

FGMPI_INTERPOSE int pthread_rwlock_rdlock(Rwlock* l) noexcept {
  FGMPI_IF_ALONE(g_pthread_rwlock_rdlock(l));
  return lock_for_reading("pthread_rwlock_rdlock", l, {},
                          [=] { return g_pthread_rwlock_rdlock(l); });
}

FGMPI_INTERPOSE int pthread_rwlock_timedrdlock(Rwlock* l, const timespec* t) noexcept {
  FGMPI_IF_ALONE(g_pthread_rwlock_timedrdlock(l, t));
  return lock_for_reading("pthread_rwlock_timedrdlock", l, {CLOCK_REALTIME, t},
                          [=] { return g_pthread_rwlock_timedrdlock(l, t); });
}

FGMPI_INTERPOSE int pthread_rwlock_clockrdlock(Rwlock* l, clockid_t clock,
                                               const timespec* t) noexcept {
  FGMPI_IF_ALONE(g_pthread_rwlock_clockrdlock(l, clock, t));
  return lock_for_reading("pthread_rwlock_clockrdlock", l, {clock, t},
                          [=] { return g_pthread_rwlock_clockrdlock(l, clock, t); });
}

FGMPI_INTERPOSE int pthread_rwlock_wrlock(Rwlock* l) noexcept {
  FGMPI_IF_ALONE(g_pthread_rwlock_wrlock(l));
  return lock_for_writing("pthread_rwlock_wrlock", l, {},
                          [=] { return g_pthread_rwlock_wrlock(l); });
}

FGMPI_INTERPOSE int pthread_rwlock_trywrlock(Rwlock* l) noexcept {
  const int result = g_pthread_rwlock_trywrlock(l);
  if (result == 0 && on_proclet_among_others()) write(&l->__data.__cur_writer, own_thread_id());
  return result;
}

FGMPI_INTERPOSE int pthread_rwlock_timedwrlock(Rwlock* l, const timespec* t) noexcept {
  FGMPI_IF_ALONE(g_pthread_rwlock_timedwrlock(l, t));
  return lock_for_writing("pthread_rwlock_timedwrlock", l, {CLOCK_REALTIME, t},
                          [=] { return g_pthread_rwlock_timedwrlock(l, t); });
}

FGMPI_INTERPOSE int pthread_rwlock_clockwrlock(Rwlock* l, clockid_t clock,
                                               const timespec* t) noexcept {
  FGMPI_IF_ALONE(g_pthread_rwlock_clockwrlock(l, clock, t));
  return lock_for_writing("pthread_rwlock_clockwrlock", l, {clock, t},
                          [=] { return g_pthread_rwlock_clockwrlock(l, clock, t); });
}

FGMPI_INTERPOSE int pthread_rwlock_unlock(Rwlock* l) noexcept {
  if (on_proclet_among_others() && read(l->__data.__cur_writer) == own_thread_id())
    write(&l->__data.__cur_writer, number_of_thread());
  return g_pthread_rwlock_unlock(l);
}

FGMPI_INTERPOSE int pthread_barrier_init(Barrier* b, const pthread_barrierattr_t* attributes,
                                         unsigned count) noexcept {
  int shared = PTHREAD_PROCESS_PRIVATE;
  if (attributes) pthread_barrierattr_getpshared(attributes, &shared);
  const int result = g_pthread_barrier_init(b, attributes, count);
  if (result != 0) return result;
  auto* barrier = reinterpret_cast<OwnBarrier*>(b);
  const bool several = g_mode == ImageMode::kImages || g_mode == ImageMode::kShared || g_has_guests;
  if (several && shared == PTHREAD_PROCESS_PRIVATE)
    *barrier = {0, 0, 0, count, 0, kBarrierMark};
  else
    barrier->mark = 0;
  return 0;
}

FGMPI_INTERPOSE int pthread_barrier_wait(Barrier* b) noexcept {
  if (OwnBarrier* barrier = own(b)) return wait_at(barrier);
  FGMPI_IF_ALONE(g_pthread_barrier_wait(b));
  return wait_on_other_thread("pthread_barrier_wait", [=] { return g_pthread_barrier_wait(b); });
}

FGMPI_INTERPOSE int pthread_barrier_destroy(Barrier* b) noexcept {
  OwnBarrier* barrier = own(b);
  if (!barrier) return g_pthread_barrier_destroy(b);
  // Callers that the barrier has released may not have left it yet. The load pairs with the last
  // change of `inside` in wait_at().
  while (__atomic_load_n(&barrier->inside, __ATOMIC_ACQUIRE) > 0) sched_yield();
  barrier->mark = 0;
  return 0;
}

FGMPI_INTERPOSE int sem_wait(sem_t* s) {
  FGMPI_IF_ALONE(g_sem_wait(s));
  return wait_for_semaphore("sem_wait", s, {}, [=] { return g_sem_wait(s); });
}

FGMPI_INTERPOSE int sem_timedwait(sem_t* s, const timespec* t) {
  FGMPI_IF_ALONE(g_sem_timedwait(s, t));
  return wait_for_semaphore("sem_timedwait", s, {CLOCK_REALTIME, t},
                            [=] { return g_sem_timedwait(s, t); });
}

FGMPI_INTERPOSE int sem_clockwait(sem_t* s, clockid_t clock, const timespec* t) {
  FGMPI_IF_ALONE(g_sem_clockwait(s, clock, t));
  return wait_for_semaphore("sem_clockwait", s, {clock, t},
                            [=] { return g_sem_clockwait(s, clock, t); });
}

// The C library's C11 functions call internal functions of its own, not the functions above.

FGMPI_INTERPOSE int mtx_lock(mtx_t* m) {
  FGMPI_IF_ALONE(g_mtx_lock(m));
  return c11(lock_mutex("mtx_lock", posix(m), {}, [=] { return g_pthread_mutex_lock(posix(m)); }));
}

FGMPI_INTERPOSE int mtx_trylock(mtx_t* m) {
  FGMPI_IF_ALONE(g_mtx_trylock(m));
  return c11(try_mutex(posix(m)));
}

FGMPI_INTERPOSE int mtx_timedlock(mtx_t* m, const timespec* t) {
  FGMPI_IF_ALONE(g_mtx_timedlock(m, t));
  return c11(lock_mutex("mtx_timedlock", posix(m), {CLOCK_REALTIME, t},
                        [=] { return g_pthread_mutex_timedlock(posix(m), t); }));
}

FGMPI_INTERPOSE int mtx_unlock(mtx_t* m) {
  FGMPI_IF_ALONE(g_mtx_unlock(m));
  return c11(unlock_mutex(posix(m)));
}

FGMPI_INTERPOSE int cnd_wait(cnd_t* c, mtx_t* m) {
  FGMPI_IF_ALONE(g_cnd_wait(c, m));
  return c11(wait_for_condition("cnd_wait", posix(m), {},
                                [=] { return g_pthread_cond_wait(posix(c), posix(m)); }));
}

FGMPI_INTERPOSE int cnd_timedwait(cnd_t* c, mtx_t* m, const timespec* t) {
  FGMPI_IF_ALONE(g_cnd_timedwait(c, m, t));
  return c11(wait_for_condition("cnd_timedwait", posix(m), {CLOCK_REALTIME, t},
                                [=] { return g_pthread_cond_timedwait(posix(c), posix(m), t); }));
}

// syscall(): the C++ library calls it for futures, std::atomic::wait, semaphores and latches, from
// its own code and from the program's. <unistd.h> does not declare its further arguments: they
// arrive in registers, as those of any function.
extern "C" __attribute__((visibility("default"))) long fgmpi_syscall(long number, long a, long b,
                                                                     long c, long d, long e,
                                                                     long f) __asm__("syscall");

long fgmpi_syscall(long number, long a, long b, long c, long d, long e, long f) {
  const bool waits =
      number == SYS_futex && waits_on_futex(a, b) && !in_allocator(__builtin_return_address(0));
  const long result =
      waits ? wait_on_futex(a, b, c, d, e, f) : fgmpi::raw_call(number, a, b, c, d, e, f);
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}
