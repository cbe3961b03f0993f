/* At MPI_THREAD_FUNNELED threads of a program compute; MPI is called by the one that runs main, and
 * every thread can find out which that is (MPI-4.0 chapter 11). More than that:
 * test/mpi/threads. */
#include <pthread.h>

#include "mpitest.h"

static int sum; /* of this rank */

typedef struct {
  int rank, flag, provided, initialized;
} Seen;

static void* work(void* argument) {
  Seen* seen = argument;
  for (int i = 0; i < 1000; ++i) sum += seen->rank;
  MPI_Is_thread_main(&seen->flag);
  MPI_Query_thread(&seen->provided);
  MPI_Initialized(&seen->initialized);
  return NULL;
}

int main(int argc, char** argv) {
  int provided, queried, flag = 0;
  Seen seen = {.flag = 1};
  pthread_t thread;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &seen.rank));
  CHECK(provided == MPI_THREAD_FUNNELED);
  OK(MPI_Query_thread(&queried));
  CHECK(queried == provided);
  OK(MPI_Is_thread_main(&flag));
  CHECK(flag == 1);
  CHECK(pthread_create(&thread, NULL, work, &seen) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(seen.flag == 0 && seen.provided == provided && seen.initialized == 1);
  CHECK(sum == 1000 * seen.rank);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Is_thread_main(&flag));
  CHECK(flag == 1);
  return finish();
}
