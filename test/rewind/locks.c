// Ranks that wait for each other's locks, conditions, barriers and semaphores, which lie in memory that they share. Prints in
// which order they came.
#define _GNU_SOURCE  // pthread_mutex_clocklock and the like
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

struct Shared {
  pthread_mutex_t plain, recursive, checking;
  pthread_cond_t condition;
  pthread_rwlock_t lock;
  pthread_barrier_t barrier;
  sem_t semaphore;
  mtx_t c11;
  int turn, readers;
};

static int rank, size;
static struct Shared* shared;

static void expect(int holds, const char* what) {
  if (holds) return;
  printf("rank %d: wrong: %s\n", rank, what);
  exit(3);
}
#define EXPECT(holds) expect(holds, #holds)

static struct timespec in_ms(clockid_t clock, long ms) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += ms * 1000000;
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

// Lets other ranks run.
static void let_others_run(void) {
  for (int i = 0; i < 3; ++i) {
    int value = i;
    MPI_Sendrecv_replace(&value, 1, MPI_INT, rank, 0, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    struct timespec pause = {0, 200000};
    nanosleep(&pause, NULL);
  }
}

static void wait_for_mutexes(void) {
  const struct timespec late = in_ms(CLOCK_REALTIME, 60000),
                        late_too = in_ms(CLOCK_MONOTONIC, 60000);
  EXPECT(pthread_mutex_lock(&shared->plain) == 0);
  let_others_run();
  printf("rank %d has the plain one\n", rank);
  EXPECT(pthread_mutex_unlock(&shared->plain) == 0);
  EXPECT(pthread_mutex_timedlock(&shared->recursive, &late) == 0 &&
         pthread_mutex_lock(&shared->recursive) == 0);
  let_others_run();
  printf("rank %d has the recursive one\n", rank);
  EXPECT(pthread_mutex_unlock(&shared->recursive) == 0 &&
         pthread_mutex_unlock(&shared->recursive) == 0);
  EXPECT(pthread_mutex_clocklock(&shared->checking, CLOCK_MONOTONIC, &late_too) == 0);
  let_others_run();
  EXPECT(pthread_mutex_lock(&shared->checking) == EDEADLK &&
         pthread_mutex_unlock(&shared->checking) == 0);
  EXPECT(mtx_lock(&shared->c11) == thrd_success);
  let_others_run();
  printf("rank %d has that of C11\n", rank);
  EXPECT(mtx_unlock(&shared->c11) == thrd_success);
  MPI_Barrier(MPI_COMM_WORLD);
  // Rank 0 keeps it until the others have given up.
  if (rank == 0) EXPECT(pthread_mutex_lock(&shared->plain) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  const struct timespec soon = in_ms(CLOCK_REALTIME, 2);
  if (rank > 0) EXPECT(pthread_mutex_timedlock(&shared->plain, &soon) == ETIMEDOUT);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) EXPECT(pthread_mutex_unlock(&shared->plain) == 0);
}

static void wait_for_conditions(void) {
  for (int round = 0; round < 3; ++round) {
    EXPECT(pthread_mutex_lock(&shared->recursive) == 0);
    while (shared->turn % size != rank)
      EXPECT(pthread_cond_wait(&shared->condition, &shared->recursive) == 0);
    printf("rank %d: turn %d\n", rank, shared->turn++);
    EXPECT(pthread_cond_broadcast(&shared->condition) == 0 &&
           pthread_mutex_unlock(&shared->recursive) == 0);
  }
  const struct timespec soon = in_ms(CLOCK_REALTIME, 2);
  int result = 0;
  EXPECT(pthread_mutex_lock(&shared->plain) == 0);
  while (result == 0) result = pthread_cond_timedwait(&shared->condition, &shared->plain, &soon);
  EXPECT(result == ETIMEDOUT && pthread_mutex_unlock(&shared->plain) == 0);
}

static void wait_for_others(void) {
  if (rank % 2) {
    EXPECT(pthread_rwlock_wrlock(&shared->lock) == 0 && shared->readers == 0);
    let_others_run();
    EXPECT(shared->readers == 0);
  } else {
    EXPECT(pthread_rwlock_rdlock(&shared->lock) == 0);
    ++shared->readers;
    let_others_run();
    --shared->readers;
  }
  printf("rank %d %s\n", rank, rank % 2 ? "writes" : "reads");
  EXPECT(pthread_rwlock_unlock(&shared->lock) == 0);
  const int last = pthread_barrier_wait(&shared->barrier);
  printf("rank %d is %s\n", rank, last == PTHREAD_BARRIER_SERIAL_THREAD ? "the one" : "another");
  EXPECT(sem_wait(&shared->semaphore) == 0);
  let_others_run();
  printf("rank %d passes\n", rank);
  EXPECT(sem_post(&shared->semaphore) == 0);
}

static void make_shared(void) {
  pthread_mutexattr_t recursive, checking;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_init(&checking);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutexattr_settype(&checking, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&shared->plain, NULL);
  pthread_mutex_init(&shared->recursive, &recursive);
  pthread_mutex_init(&shared->checking, &checking);
  pthread_cond_init(&shared->condition, NULL);
  pthread_rwlock_init(&shared->lock, NULL);
  pthread_barrier_init(&shared->barrier, NULL, (unsigned)size);
  sem_init(&shared->semaphore, 0, 1);
  mtx_init(&shared->c11, mtx_plain);
  shared->turn = shared->readers = 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win window;
  MPI_Aint bytes;
  int unit;
  MPI_Win_allocate_shared(rank == 0 ? sizeof *shared : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared,
                          &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, &shared);
  if (rank == 0) make_shared();
  MPI_Barrier(MPI_COMM_WORLD);
  wait_for_mutexes();
  MPI_Barrier(MPI_COMM_WORLD);
  wait_for_conditions();
  MPI_Barrier(MPI_COMM_WORLD);
  wait_for_others();
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
