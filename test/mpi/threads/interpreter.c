/* As interpreters with a global lock call MPI (mpi4py): MPI is initialized when a module is loaded
 * and finalized by an exit handler; a thread holds the interpreter's lock while it runs, lets go of
 * it around each call of MPI, and hands it over when another one has waited for it for 5 ms.
 * Objects travel as messages of unknown length (matched probes); a pool's manager thread looks for
 * work with MPI_Iprobe and sleeps between looks. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "threads.h"

enum { kWorkers = 3, kTasks = 12, kTask = 11, kResult = 12, kStop = 13 };

static struct {
  pthread_mutex_t mutex;
  pthread_cond_t free, taken;
  int held, drop;
  unsigned long switches;
} lock = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};

static void take(void) {
  pthread_mutex_lock(&lock.mutex);
  while (lock.held) {
    const unsigned long seen = lock.switches;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 5000000;
    if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, ++until.tv_sec;
    if (pthread_cond_timedwait(&lock.free, &lock.mutex, &until) == ETIMEDOUT && lock.held &&
        lock.switches == seen)
      lock.drop = 1;
  }
  lock.held = 1;
  ++lock.switches;
  if (lock.drop) {
    lock.drop = 0;
    pthread_cond_signal(&lock.taken);
  }
  pthread_mutex_unlock(&lock.mutex);
}

static void let_go(void) {
  pthread_mutex_lock(&lock.mutex);
  lock.held = 0;
  const unsigned long seen = lock.switches;
  const int asked = lock.drop;
  pthread_cond_signal(&lock.free);
  while (asked && lock.drop && lock.switches == seen) pthread_cond_wait(&lock.taken, &lock.mutex);
  pthread_mutex_unlock(&lock.mutex);
}

/* A call of MPI as the interpreter makes it. */
#define CALL(call)               \
  do {                           \
    let_go();                    \
    const int code_ = (call);    \
    take();                      \
    CHECK(code_ == MPI_SUCCESS); \
  } while (0)

static int rank, size;
static long objects; /* only changed with the lock held */

static void send_object(int to, int tag, int value) {
  const int length = 1 + (value * 37 + tag) % 5000;
  int* object = malloc(sizeof(int) * (size_t)length);
  for (int i = 0; i < length; ++i) object[i] = value + i;
  ++objects;
  CALL(MPI_Send(object, length, MPI_INT, to, tag, MPI_COMM_WORLD));
  free(object);
}

static int receive_object(int from, int tag, MPI_Status* status) {
  MPI_Message message;
  int length;
  CALL(MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, status));
  CALL(MPI_Get_count(status, MPI_INT, &length));
  int* object = malloc(sizeof(int) * (size_t)length);
  CALL(MPI_Mrecv(object, length, MPI_INT, &message, MPI_STATUS_IGNORE));
  const int value = object[0];
  CHECK(length == 1 + (value * 37 + status->MPI_TAG) % 5000);
  for (int i = 0; i < length; ++i) CHECK(object[i] == value + i);
  free(object);
  --objects;
  return value;
}

/* Serves tasks of all ranks until each has said that it has no more. */
static void* manage(void* nothing) {
  take();
  for (int stopped = 0; stopped < size;) {
    MPI_Status status;
    int flag = 0, more = 0;
    CALL(MPI_Iprobe(MPI_ANY_SOURCE, kTask, MPI_COMM_WORLD, &flag, &status));
    if (flag) {
      const int from = status.MPI_SOURCE, value = receive_object(from, kTask, &status);
      send_object(from, kResult + 10 + value % kWorkers, value * 2);
      continue;
    }
    CALL(MPI_Iprobe(MPI_ANY_SOURCE, kStop, MPI_COMM_WORLD, &more, &status));
    if (more) {
      CALL(MPI_Recv(NULL, 0, MPI_INT, status.MPI_SOURCE, kStop, MPI_COMM_WORLD, &status));
      ++stopped;
      continue;
    }
    const struct timespec pause = {0, 200000};
    let_go();
    nanosleep(&pause, NULL);
    take();
  }
  let_go();
  return nothing;
}

static void ask(int worker) {
  take();
  for (int task = worker; task < kTasks; task += kWorkers) {
    MPI_Status status;
    volatile double sum = 0;
    for (int i = 0; i < 20000; ++i) sum += i; /* the interpreter runs */
    send_object((rank + task) % size, kTask, task);
    CHECK(receive_object((rank + task) % size, kResult + 10 + worker, &status) == 2 * task);
  }
  let_go();
}

static void finalize(void) {
  int yes;
  OK(MPI_Finalized(&yes));
  CHECK(!yes);
  let_go();
  OK(MPI_Finalize());
}

int main(int argc, char** argv) {
  pthread_t manager;
  long sum;
  init_threads(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  take();
  CHECK(atexit(finalize) == 0);
  CHECK(pthread_create(&manager, NULL, manage, NULL) == 0);
  let_go();
  run_threads(kWorkers, ask);
  take();
  for (int r = 0; r < size; ++r) CALL(MPI_Send(NULL, 0, MPI_INT, r, kStop, MPI_COMM_WORLD));
  let_go();
  CHECK(pthread_join(manager, NULL) == 0);
  take();
  CALL(MPI_Allreduce(&objects, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == 0);
  if (rank == 0) printf(" No Errors\n");
  return 0;
}
