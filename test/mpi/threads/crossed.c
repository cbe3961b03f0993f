/* Every rank has a thread for each rank of the job: thread t exchanges with rank t, itself
 * included, all in step by barriers of threads. One of them waits for the requests that all have
 * started, or each for its own. Sizes from one element to messages that need the receiver's
 * consent. */
#include <string.h>

#include "threads.h"

enum { kRounds = 5, kMostElements = 1 << 19 };

static int rank, size, threads, each_waits;
static pthread_barrier_t in_step;
static MPI_Request requests[2 * kMostThreads];

static void meet(void) {
  int result = pthread_barrier_wait(&in_step);
  CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void exchange(int thread) {
  MPI_Request* mine = &requests[2 * thread];
  for (int count = 1, tag = 1; count <= kMostElements; count *= 4, ++tag) {
    int* out = malloc(count * sizeof *out);
    int* in = malloc(count * sizeof *in);
    CHECK(out && in);
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < count; ++i) out[i] = rank * 1000 + round + i;
      in[0] = in[count - 1] = -1;
      meet();
      OK(MPI_Isend(out, count, MPI_INT, thread, tag, MPI_COMM_WORLD, &mine[0]));
      OK(MPI_Irecv(in, count, MPI_INT, thread, tag, MPI_COMM_WORLD, &mine[1]));
      if (each_waits) {
        OK(MPI_Waitall(2, mine, MPI_STATUSES_IGNORE));
      } else {
        meet();
        if (thread == threads - 1) OK(MPI_Waitall(2 * threads, requests, MPI_STATUSES_IGNORE));
        meet();
      }
      CHECK(in[0] == thread * 1000 + round && in[count - 1] == in[0] + count - 1);
    }
    meet();
    free(out);
    free(in);
  }
}

int main(int argc, char** argv) {
  init_threads(&argc, &argv);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  threads = size < kMostThreads ? size : kMostThreads;
  CHECK(pthread_barrier_init(&in_step, NULL, threads) == 0);
  for (each_waits = 0; each_waits < 2; ++each_waits) {
    if (rank < threads) run_threads(threads, exchange);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  CHECK(pthread_barrier_destroy(&in_step) == 0);
  return finish();
}
