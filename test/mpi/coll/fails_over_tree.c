/* Collectives over the tree of a system-ranked communicator that fail in several processes at once:
 * in one whose own ranks give different lengths or make different calls (then it tells every
 * process), and in one that gets another length than its own from a neighbour (it tells its
 * neighbours). Others come late, one after another: the next collective works all the same. Every
 * order of five processes. */
#include <fgmpi.h>
#include <stdlib.h>
#include <time.h>

#include "mpitest.h"

enum {
  kMany = 20000,
  kProcesses = 5
}; /* a message that long does not travel before it is received */

static int buffer[kMany + 2], result[kMany + 2];
static int rank, size, here, different_calls;

/* Lets no other rank of the process run, and nothing arrive (as sleeping would). */
static void compute(long microseconds) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 <
           microseconds);
}

/* What processes do by their places in `order`. */
static void one_case(MPI_Comm comm, const int* order) {
  static const long kComesAfter[kProcesses] = {0, 0, 5000, 10000, 15000}; /* microseconds */
  int count = kMany, one = 1, sum = 0, code;
  const int place = order[rank / here]; /* ranks of a process are consecutive */
  if (rank % here == 0) compute(kComesAfter[place]);
  if (place == 0) count = kMany + 1;
  if (place == 2 && rank % here == 0) count = kMany + 2;
  if (different_calls && place == 2 && rank % here == 0)
    code = MPI_Barrier(comm);
  else
    code = MPI_Reduce(buffer, result, count, MPI_INT, MPI_SUM, 0, comm);
  CHECK(code != MPI_SUCCESS || (place != 2 && rank != 0));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK(sum == size);
}

static void every_order(MPI_Comm comm, int* order, int placed) {
  if (placed == kProcesses) {
    one_case(comm, order);
    return;
  }
  for (int process = 0; process < kProcesses; ++process) {
    if (order[process] >= 0) continue;
    order[process] = placed;
    every_order(comm, order, placed + 1);
    order[process] = -1;
  }
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  int order[kProcesses] = {-1, -1, -1, -1, -1}, *all;
  OK(MPI_Init(&argc, &argv));
  OK(MPIX_Comm_split(MPI_COMM_WORLD, 0, MPIX_SYSTEM_RANKED, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  OK(MPIX_Get_collocated_size(&here));
  every_order(comm, order, 0);
  /* From now on every process knows the whole group. */
  all = malloc(sizeof(int) * (size_t)size);
  OK(MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, comm));
  free(all);
  every_order(comm, order, 0);
  different_calls = 1;
  every_order(comm, order, 0);
  OK(MPI_Comm_free(&comm));
  return finish();
}
