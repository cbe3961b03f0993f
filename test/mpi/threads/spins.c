/* Mains wait for their threads in loops that call nothing, while the threads exchange messages with
 * ranks of the same process. What a rank has at hand when it is interrupted is there afterwards:
 * registers, errno, thread-local variables. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "threads.h"

enum { kRounds = 3, kCount = 100000 };

static int rank, size;
static volatile int done, go;
static _Thread_local int own;

/* Sends more than fits without its receiver to the next rank, and receives from the previous
 * one. */
static void* exchange(void* unused) {
  static int out[kCount], in[kCount];
  MPI_Request request;
  (void)unused;
  for (int round = 0; round < kRounds; ++round) {
    while (go <= round) sched_yield();
    for (int i = 0; i < kCount; ++i) out[i] = rank + i + round;
    OK(MPI_Isend(out, kCount, MPI_INT, (rank + 1) % size, round, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(in, kCount, MPI_INT, (rank + size - 1) % size, round, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < kCount; ++i) CHECK(in[i] == (rank + size - 1) % size + i + round);
    done = round + 1;
  }
  return NULL;
}

/* Computes until the flag is set. The result is known. */
static double compute(int round) {
  double x = rank, y = 0;
  unsigned long n = 0;
  while (done <= round) {
    x = x * 0.5 + rank * 0.5;
    y += x - rank;
    ++n;
  }
  CHECK(n > 0);
  return x + y;
}

/* A function that the C library calls is not interrupted: the library may hold something. Rank 1
 * counts meanwhile. */
static volatile long* count;
static long before, after;

static void use_processor(double seconds) {
  const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
  while (clock() < end)
    for (volatile int i = 0; i < 100000; ++i) continue;
}

static int compare(const void* a, const void* b) {
  before = *count;
  use_processor(0.5);
  after = *count;
  return *(const int*)a - *(const int*)b;
}

static void* wait_for_end(void* unused) {
  while (!done) usleep(1000);
  return unused;
}

static void rank_0_of_two(void) {
  pthread_t thread;
  int numbers[] = {2, 1};
  done = 0;
  CHECK(pthread_create(&thread, NULL, wait_for_end, NULL) == 0);
  count = calloc(2, sizeof *count);
  OK(MPI_Send(&count, sizeof count, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
  while (*count < 10) sched_yield();
  qsort(numbers, 2, sizeof(int), compare);
  CHECK(numbers[0] == 1 && before == after);
  before = *count;
  while (*count == before) continue;
  count[1] = done = 1;
  CHECK(pthread_join(thread, NULL) == 0);
}

static void rank_1_of_two(void) {
  OK(MPI_Recv(&count, sizeof count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  while (!count[1]) ++*count, sched_yield();
}

/* True in all ranks when ranks 0 and 1 are in one process. */
static int share_a_process(void) {
  int pids[2] = {getpid(), getpid()};
  if (size < 2) return 0;
  OK(MPI_Bcast(&pids[0], 1, MPI_INT, 0, MPI_COMM_WORLD));
  OK(MPI_Bcast(&pids[1], 1, MPI_INT, 1, MPI_COMM_WORLD));
  return pids[0] == pids[1];
}

int main(int argc, char** argv) {
  int provided;
  pthread_t thread;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  own = 1000 + rank;
  CHECK(pthread_create(&thread, NULL, exchange, NULL) == 0);
  for (int round = 0; round < kRounds; ++round) {
    errno = 10 + rank % 50;
    go = round + 1;
    CHECK(compute(round) == rank);
    CHECK(errno == 10 + rank % 50 && own == 1000 + rank);
  }
  CHECK(pthread_join(thread, NULL) == 0);
  if (share_a_process()) {
    if (rank == 0) rank_0_of_two();
    if (rank == 1) rank_1_of_two();
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return finish();
}
