/* What interposition adds to calls of the C library that need not wait: each on the main thread of
 * the only rank of a process, of one of several, and, as the C library alone does it, in a program
 * without this library.
 *
 *   cc -O2 -pthread -DALONE lock_cost.c -o lock_cost_alone && ./lock_cost_alone
 *   mpiexec -n 1 lock_cost;   mpiexec -n 1 -nfg 2 lock_cost
 *
 * One line a call: nanoseconds of processor time a pair, the best of kRuns. */
#ifndef ALONE
#include <mpi.h>
#endif
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

enum { kRuns = 15, kPairs = 200000 };

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, recursive;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static mtx_t c11;

static void use_plain(void) { pthread_mutex_lock(&plain), pthread_mutex_unlock(&plain); }
static void use_recursive(void) {
  pthread_mutex_lock(&recursive), pthread_mutex_unlock(&recursive);
}
static void use_c11(void) { mtx_lock(&c11), mtx_unlock(&c11); }
static void use_reading(void) { pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock); }
static void use_writing(void) { pthread_rwlock_wrlock(&rwlock), pthread_rwlock_unlock(&rwlock); }
static void use_semaphore(void) { sem_post(&semaphore), sem_wait(&semaphore); }
static void use_barrier(void) { pthread_barrier_wait(&barrier); }

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* others may use the machine */
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void measure(const char* name, void (*use)(void)) {
  double best = 1e30;
  for (int run = 0; run < kRuns; ++run) {
    double start = now_ns();
    for (int i = 0; i < kPairs; ++i) use();
    double each = (now_ns() - start) / kPairs;
    if (each < best) best = each;
  }
  printf("%-32s %8.1f\n", name, best);
}

int main(int argc, char** argv) {
  int rank = 0;
#ifndef ALONE
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#else
  (void)argc, (void)argv;
#endif
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &kind);
  pthread_barrier_init(&barrier, NULL, 1);
  sem_init(&semaphore, 0, 0);
  mtx_init(&c11, mtx_plain);
  if (rank == 0) {
    measure("pthread_mutex, plain", use_plain);
    measure("pthread_mutex, recursive", use_recursive);
    measure("mtx", use_c11);
    measure("pthread_rwlock, reading", use_reading);
    measure("pthread_rwlock, writing", use_writing);
    measure("sem_post and sem_wait", use_semaphore);
    measure("pthread_barrier_wait of one", use_barrier);
  }
#ifndef ALONE
  MPI_Finalize();
#endif
  return 0;
}
