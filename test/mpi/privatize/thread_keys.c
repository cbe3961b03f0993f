/* Values of pthread_setspecific and tss_set: each rank has its own, as if it were a thread. Even
 * ranks end with pthread_exit, which destroys them; odd ones return from main, which does not. */
#include <pthread.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "mpitest.h"

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tss_t tss;
static int rank, values[3], destroyed;

static void check_destroyed(void) {
  int expected = rank % 2 == 0 ? 2 : 0;
  if (destroyed == expected) return;
  fprintf(stderr, "rank %d: %d values destroyed instead of %d\n", rank, destroyed, expected);
  _exit(1);
}

/* Puts another value in place once, which is to be destroyed too. */
static void destroy(void* value) {
  int again = value == &values[0];
  if (value != &values[0] && value != &values[1]) abort();
  if (pthread_getspecific(key) != NULL) abort();
  ++destroyed;
  if (again) pthread_setspecific(key, &values[1]);
}

/* A tail call: the return address is not in the caller. */
static void make_key(void) { pthread_key_create(&key, destroy); }

static pthread_key_t counted;
static int ended_threads;
static void count(void* value) { ended_threads += value == &values[2]; }

/* Values of a deleted key are not destroyed. */
static void never(void* value) {
  (void)value;
  abort();
}

static void check_keys_come_and_go(void) {
  int i;
  for (i = 0; i < 3000; ++i) {
    pthread_key_t passing;
    CHECK(pthread_key_create(&passing, never) == 0);
    CHECK(pthread_getspecific(passing) == NULL);
    CHECK(pthread_setspecific(passing, &i) == 0 && pthread_getspecific(passing) == &i);
    CHECK(pthread_key_delete(passing) == 0);
  }
}

static void check_many_keys(void) {
  enum { kMany = 40 };
  pthread_key_t* many = malloc(kMany * sizeof *many);
  int i;
  for (i = 0; i < kMany; ++i) {
    CHECK(pthread_key_create(&many[i], NULL) == 0);
    CHECK(pthread_setspecific(many[i], &many[i]) == 0);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (i = 0; i < kMany; ++i) CHECK(pthread_getspecific(many[i]) == &many[i]);
  for (i = 0; i < kMany; ++i) CHECK(pthread_key_delete(many[i]) == 0);
  free(many);
}

static void* in_thread(void* unused) {
  CHECK(pthread_getspecific(key) == NULL && tss_get(tss) == NULL);
  CHECK(pthread_setspecific(counted, &values[2]) == 0);
  CHECK(pthread_getspecific(counted) == &values[2]);
  return unused;
}

/* A thread that is no rank has its own values, which its end destroys. */
static void check_thread(void) {
  pthread_t thread;
  CHECK(pthread_key_create(&counted, count) == 0);
  CHECK(pthread_setspecific(counted, &values[0]) == 0);
  CHECK(pthread_create(&thread, NULL, in_thread, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(ended_threads == 1 && pthread_getspecific(counted) == &values[0]);
}

static void check_child(void) {
  int status = -1;
  pid_t child = fork();
  if (child == 0)
    _exit(pthread_getspecific(key) == &values[0] && tss_get(tss) == &values[1] ? 0 : 1);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char** argv) {
  int i, status;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK(pthread_once(&once, make_key) == 0 && tss_create(&tss, NULL) == thrd_success);
  CHECK(pthread_getspecific(key) == NULL && tss_get(tss) == NULL);
  CHECK(pthread_setspecific(key, &values[0]) == 0 && tss_set(tss, &values[1]) == thrd_success);
  for (i = 0; i < 3; ++i) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(pthread_getspecific(key) == &values[0] && tss_get(tss) == &values[1]);
  }
  check_keys_come_and_go();
  check_many_keys();
  check_thread();
  if (rank == 0) check_child();
  CHECK(pthread_getspecific(key) == &values[0] && destroyed == 0);
  CHECK(atexit(check_destroyed) == 0);
  status = finish();
  if (rank % 2 == 0) pthread_exit(NULL);
  return status;
}
