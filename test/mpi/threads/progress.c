/* While main computes without a call of MPI, the rank's thread makes progress by itself: large
 * messages, nonblocking collectives that main started, and its own; also while no other rank of the
 * process runs but by its thread. */
#include <stdatomic.h>
#include <string.h>

#include "threads.h"

enum { kLarge = 1 << 21 };

static int rank, size;
static atomic_int over;
static MPI_Comm comm;
static MPI_Request started;

static void work(int thread) {
  char* out = malloc(kLarge);
  char* in = malloc(kLarge);
  (void)thread;
  for (int round = 0; round < 3; ++round) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, one = 1, sum = 0;
    MPI_Request request;
    memset(out, rank + round, kLarge);
    OK(MPI_Sendrecv(out, kLarge, MPI_CHAR, right, 0, in, kLarge, MPI_CHAR, left, 0, comm,
                    MPI_STATUS_IGNORE));
    CHECK(in[0] == (char)(left + round) && in[kLarge - 1] == (char)(left + round));
    OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(sum == size);
  }
  OK(MPI_Wait(&started, MPI_STATUS_IGNORE));
  free(out);
  free(in);
  over = 1;
}

static void* run(void* nothing) {
  work(0);
  return nothing;
}

int main(int argc, char** argv) {
  pthread_t thread;
  init_threads(&argc, &argv);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  static int value = 1, sum;
  OK(MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &started));
  CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
  /* All ranks have their threads: they need no other rank's main. */
  OK(MPI_Barrier(MPI_COMM_WORLD));
  while (!over) {
  }
  CHECK(sum == size);
  CHECK(pthread_join(thread, NULL) == 0);
  OK(MPI_Comm_free(&comm));
  return finish();
}
