/* A rank that waits for its threads holds no other rank of its process up: along a ring, each
 * rank's thread receives a message from the left and releases the rank, which then sends to the
 * right. And locks that a rank holds are not those of another rank on the same thread. */
#define _GNU_SOURCE /* pthread_cond_clockwait and the like */
#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "threads.h"

static int rank, size;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static mtx_t c11_mutex;
static cnd_t c11_condition;
static int released;

static struct timespec after(clockid_t clock, double seconds) {
  struct timespec t;
  clock_gettime(clock, &t);
  long ns = t.tv_nsec + (long)(seconds * 1e9);
  t.tv_sec += ns / 1000000000;
  t.tv_nsec = ns % 1000000000;
  return t;
}

/* How a thread holds its rank up and lets it go, and how the rank waits. */
typedef struct {
  const char* name;
  void (*hold)(void); /* in the thread, before the rank waits; may be NULL */
  void (*release)(void);
  void (*wait)(void);
} Way;

static void set_and_signal(void) {
  CHECK(pthread_mutex_lock(&mutex) == 0);
  released = 1;
  CHECK(pthread_cond_broadcast(&condition) == 0);
  CHECK(pthread_mutex_unlock(&mutex) == 0);
}
static void wait_condition(void) {
  CHECK(pthread_mutex_lock(&mutex) == 0);
  while (!released) CHECK(pthread_cond_wait(&condition, &mutex) == 0);
  CHECK(pthread_mutex_unlock(&mutex) == 0);
}
static void wait_condition_timed(void) {
  CHECK(pthread_mutex_lock(&mutex) == 0);
  struct timespec soon = after(CLOCK_REALTIME, 0.001), late = after(CLOCK_REALTIME, 60);
  int result = 0;
  while (!released && result == 0) result = pthread_cond_timedwait(&condition, &mutex, &soon);
  CHECK(released || result == ETIMEDOUT);
  while (!released) CHECK(pthread_cond_timedwait(&condition, &mutex, &late) == 0);
  CHECK(pthread_mutex_unlock(&mutex) == 0);
}
static void wait_condition_clock(void) {
  CHECK(pthread_mutex_lock(&mutex) == 0);
  struct timespec late = after(CLOCK_MONOTONIC, 60);
  while (!released) CHECK(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &late) == 0);
  CHECK(pthread_mutex_unlock(&mutex) == 0);
}

static void lock_mutex(void) { CHECK(pthread_mutex_lock(&mutex) == 0); }
static void unlock_mutex(void) { CHECK(pthread_mutex_unlock(&mutex) == 0); }
static void pass_mutex(void) { lock_mutex(), unlock_mutex(); }
static void pass_mutex_timed(void) {
  struct timespec soon = after(CLOCK_REALTIME, 0.001), late = after(CLOCK_REALTIME, 60);
  int result = pthread_mutex_timedlock(&mutex, &soon);
  CHECK(result == 0 || result == ETIMEDOUT);
  if (result) CHECK(pthread_mutex_timedlock(&mutex, &late) == 0);
  unlock_mutex();
}
static void pass_mutex_clock(void) {
  struct timespec late = after(CLOCK_MONOTONIC, 60);
  CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &late) == 0);
  unlock_mutex();
}

static void lock_for_writing(void) { CHECK(pthread_rwlock_wrlock(&rwlock) == 0); }
static void lock_for_reading(void) { CHECK(pthread_rwlock_rdlock(&rwlock) == 0); }
static void unlock_rwlock(void) { CHECK(pthread_rwlock_unlock(&rwlock) == 0); }
static void pass_reading(void) { lock_for_reading(), unlock_rwlock(); }
static void pass_writing(void) { lock_for_writing(), unlock_rwlock(); }
static void pass_reading_timed(void) {
  struct timespec late = after(CLOCK_REALTIME, 60);
  CHECK(pthread_rwlock_timedrdlock(&rwlock, &late) == 0);
  unlock_rwlock();
}
static void pass_writing_clock(void) {
  struct timespec late = after(CLOCK_MONOTONIC, 60);
  CHECK(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &late) == 0);
  unlock_rwlock();
}

static void meet(void) {
  int result = pthread_barrier_wait(&barrier);
  CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void post(void) { CHECK(sem_post(&semaphore) == 0); }
static void wait_semaphore(void) { CHECK(sem_wait(&semaphore) == 0); }
static void wait_semaphore_timed(void) {
  struct timespec soon = after(CLOCK_REALTIME, 0.001), late = after(CLOCK_REALTIME, 60);
  if (sem_timedwait(&semaphore, &soon) == 0) return;
  CHECK(errno == ETIMEDOUT);
  CHECK(sem_timedwait(&semaphore, &late) == 0);
}

static void c11_lock(void) { CHECK(mtx_lock(&c11_mutex) == thrd_success); }
static void c11_unlock(void) { CHECK(mtx_unlock(&c11_mutex) == thrd_success); }
static void c11_pass(void) { c11_lock(), c11_unlock(); }
static void c11_pass_timed(void) {
  struct timespec late = after(CLOCK_REALTIME, 60);
  CHECK(mtx_timedlock(&c11_mutex, &late) == thrd_success);
  c11_unlock();
}
static void c11_signal(void) {
  c11_lock();
  released = 1;
  CHECK(cnd_signal(&c11_condition) == thrd_success);
  c11_unlock();
}
static void c11_wait(void) {
  c11_lock();
  while (!released) CHECK(cnd_wait(&c11_condition, &c11_mutex) == thrd_success);
  c11_unlock();
}
static void c11_wait_timed(void) {
  struct timespec late = after(CLOCK_REALTIME, 60);
  c11_lock();
  while (!released) CHECK(cnd_timedwait(&c11_condition, &c11_mutex, &late) == thrd_success);
  c11_unlock();
}

static const Way kWays[] = {
    {"pthread_cond_wait", NULL, set_and_signal, wait_condition},
    {"pthread_cond_timedwait", NULL, set_and_signal, wait_condition_timed},
    {"pthread_cond_clockwait", NULL, set_and_signal, wait_condition_clock},
    {"pthread_mutex_lock", lock_mutex, unlock_mutex, pass_mutex},
    {"pthread_mutex_timedlock", lock_mutex, unlock_mutex, pass_mutex_timed},
    {"pthread_mutex_clocklock", lock_mutex, unlock_mutex, pass_mutex_clock},
    {"pthread_rwlock_rdlock", lock_for_writing, unlock_rwlock, pass_reading},
    {"pthread_rwlock_wrlock", lock_for_writing, unlock_rwlock, pass_writing},
    {"pthread_rwlock_wrlock of a reader", lock_for_reading, unlock_rwlock, pass_writing},
    {"pthread_rwlock_timedrdlock", lock_for_writing, unlock_rwlock, pass_reading_timed},
    {"pthread_rwlock_clockwrlock", lock_for_reading, unlock_rwlock, pass_writing_clock},
    {"pthread_barrier_wait", NULL, meet, meet},
    {"sem_wait", NULL, post, wait_semaphore},
    {"sem_timedwait", NULL, post, wait_semaphore_timed},
    {"mtx_lock", c11_lock, c11_unlock, c11_pass},
    {"mtx_timedlock", c11_lock, c11_unlock, c11_pass_timed},
    {"cnd_wait", NULL, c11_signal, c11_wait},
    {"cnd_timedwait", NULL, c11_signal, c11_wait_timed},
};
enum { kWayCount = sizeof kWays / sizeof kWays[0] };

static const Way* way;

static void hold_and_release(int unused) {
  int token = -1;
  (void)unused;
  if (way->hold) way->hold();
  OK(MPI_Send(NULL, 0, MPI_INT, rank, 1, MPI_COMM_WORLD)); /* it holds */
  OK(MPI_Recv(&token, 1, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(token == (rank + size - 1) % size);
  way->release();
}

static void* run_thread(void* argument) {
  hold_and_release(0);
  return argument;
}

static int run_c11_thread(void* argument) {
  hold_and_release(0);
  return *(int*)argument;
}

static void go_round(const Way* next, int join_by_c11) {
  pthread_t thread;
  thrd_t c11_thread;
  int number = 7, result = -1;
  way = next;
  released = 0;
  if (join_by_c11)
    CHECK(thrd_create(&c11_thread, run_c11_thread, &number) == thrd_success);
  else
    CHECK(pthread_create(&thread, NULL, run_thread, NULL) == 0);
  OK(MPI_Recv(NULL, 0, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (rank == 0) OK(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD));
  if (!join_by_c11) way->wait();
  if (join_by_c11) {
    CHECK(thrd_join(c11_thread, &result) == thrd_success);
    CHECK(result == number);
  }
  if (rank != 0) OK(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD));
  if (!join_by_c11) CHECK(pthread_join(thread, NULL) == 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* ---- Owners ---------------------------------------------------------------------------------- */

typedef struct {
  pthread_mutex_t recursive, checking, plain;
  pthread_rwlock_t rwlock;
  pthread_cond_t condition;
  mtx_t c11;
  int signalled, counters[4];
} Locks;

static void init_locks(Locks* l) {
  pthread_mutexattr_t kind;
  memset(l, 0, sizeof *l);
  CHECK(pthread_mutexattr_init(&kind) == 0);
  CHECK(pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE) == 0);
  CHECK(pthread_mutex_init(&l->recursive, &kind) == 0);
  CHECK(pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK) == 0);
  CHECK(pthread_mutex_init(&l->checking, &kind) == 0);
  CHECK(pthread_mutex_init(&l->plain, NULL) == 0);
  CHECK(pthread_rwlock_init(&l->rwlock, NULL) == 0);
  CHECK(pthread_cond_init(&l->condition, NULL) == 0);
  CHECK(mtx_init(&l->c11, mtx_plain | mtx_recursive) == thrd_success);
}

/* The first rank of each process has the locks, and all of them hold and try them in turn. */
static void ranks_are_owners(void) {
  MPI_Comm process;
  int me, count;
  Locks mine, *l = &mine;
  OK(MPI_Comm_split(MPI_COMM_WORLD, (int)getpid(), rank, &process));
  OK(MPI_Comm_rank(process, &me));
  OK(MPI_Comm_size(process, &count));
  if (me == 0) init_locks(&mine);
  OK(MPI_Bcast(&l, sizeof l, MPI_BYTE, 0, process));

  for (int turn = 0; turn < count && turn < 3; ++turn) {
    struct timespec soon = after(CLOCK_REALTIME, 0.002);
    if (me == turn) {
      CHECK(pthread_mutex_lock(&l->recursive) == 0);
      CHECK(pthread_mutex_lock(&l->recursive) == 0);
      CHECK(pthread_mutex_trylock(&l->recursive) == 0);
      CHECK(pthread_mutex_lock(&l->checking) == 0);
      CHECK(pthread_mutex_lock(&l->checking) == EDEADLK);
      CHECK(pthread_mutex_trylock(&l->checking) == EBUSY);
      CHECK(pthread_rwlock_wrlock(&l->rwlock) == 0);
      CHECK(pthread_rwlock_wrlock(&l->rwlock) == EDEADLK);
      CHECK(pthread_rwlock_rdlock(&l->rwlock) == EDEADLK);
      CHECK(mtx_lock(&l->c11) == thrd_success);
      CHECK(mtx_trylock(&l->c11) == thrd_success);
    }
    OK(MPI_Barrier(process));
    if (me != turn) {
      CHECK(pthread_mutex_trylock(&l->recursive) == EBUSY);
      CHECK(pthread_mutex_unlock(&l->recursive) == EPERM);
      CHECK(pthread_mutex_timedlock(&l->recursive, &soon) == ETIMEDOUT);
      CHECK(pthread_mutex_trylock(&l->checking) == EBUSY);
      CHECK(pthread_mutex_unlock(&l->checking) == EPERM);
      CHECK(pthread_mutex_timedlock(&l->checking, &soon) == ETIMEDOUT);
      CHECK(pthread_rwlock_tryrdlock(&l->rwlock) == EBUSY);
      CHECK(pthread_rwlock_trywrlock(&l->rwlock) == EBUSY);
      CHECK(pthread_rwlock_timedwrlock(&l->rwlock, &soon) == ETIMEDOUT);
      CHECK(mtx_trylock(&l->c11) == thrd_busy);
      CHECK(mtx_timedlock(&l->c11, &soon) == thrd_timedout);
    }
    OK(MPI_Barrier(process));
    if (me == turn) {
      CHECK(pthread_mutex_unlock(&l->recursive) == 0);
      CHECK(pthread_mutex_unlock(&l->recursive) == 0);
      CHECK(pthread_mutex_unlock(&l->checking) == 0);
      CHECK(pthread_rwlock_unlock(&l->rwlock) == 0);
      CHECK(mtx_unlock(&l->c11) == thrd_success);
    }
    OK(MPI_Barrier(process));
    if (me != turn) {
      CHECK(pthread_mutex_trylock(&l->recursive) == EBUSY); /* once more to be unlocked */
      CHECK(mtx_trylock(&l->c11) == thrd_busy);
    }
    OK(MPI_Barrier(process));
    if (me == turn) {
      CHECK(pthread_mutex_unlock(&l->recursive) == 0);
      CHECK(pthread_mutex_unlock(&l->recursive) == EPERM);
      CHECK(mtx_unlock(&l->c11) == thrd_success);
    }
    OK(MPI_Barrier(process));
  }

  /* All count under each kind of lock, which they hold across an MPI call that switches. */
  for (int i = 0; i < 60; ++i) {
    pthread_mutex_t* m = i % 4 == 0 ? &l->recursive : i % 4 == 1 ? &l->checking : &l->plain;
    int flag;
    CHECK((i % 4 == 3 ? pthread_rwlock_wrlock(&l->rwlock) : pthread_mutex_lock(m)) == 0);
    int* counter = &l->counters[i % 4];
    const int before = *counter;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 77, process, &flag, MPI_STATUS_IGNORE));
    *counter = before + 1;
    CHECK((i % 4 == 3 ? pthread_rwlock_unlock(&l->rwlock) : pthread_mutex_unlock(m)) == 0);
  }
  OK(MPI_Barrier(process));
  for (int i = 0; i < 4; ++i) CHECK(l->counters[i] == 15 * count);

  /* A condition variable with a mutex that has an owner: the first rank signals when it sees that
   * all others wait. */
  OK(MPI_Barrier(process));
  CHECK(pthread_mutex_lock(&l->checking) == 0);
  if (++l->signalled < count) {
    while (l->signalled < count) CHECK(pthread_cond_wait(&l->condition, &l->checking) == 0);
  } else {
    CHECK(pthread_cond_broadcast(&l->condition) == 0);
  }
  CHECK(pthread_mutex_lock(&l->checking) == EDEADLK); /* the rank is its owner again */
  CHECK(pthread_mutex_unlock(&l->checking) == 0);
  OK(MPI_Barrier(process));
  OK(MPI_Comm_free(&process));
}

int main(int argc, char** argv) {
  init_threads(&argc, &argv);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
  CHECK(sem_init(&semaphore, 0, 0) == 0);
  CHECK(mtx_init(&c11_mutex, mtx_timed) == thrd_success);
  CHECK(cnd_init(&c11_condition) == thrd_success);
  for (int i = 0; i < kWayCount; ++i) go_round(&kWays[i], 0);
  go_round(&kWays[0], 1);
  ranks_are_owners();
  CHECK(pthread_barrier_destroy(&barrier) == 0);
  return finish();
}
