/* A job that ends in order, its processes at different times: ends_in_order.py starts it many
 * times.
 *   ends_in_order MESSAGES LATE...
 * Each rank sends MESSAGES messages to the next one. LATE holds a number for each process, in
 * order: so many milliseconds its last rank computes, without MPI, between MPI_Finalize and its
 * end. FGMPI_NFG is the number of ranks a process. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static void compute(int milliseconds) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
         milliseconds);
}

int main(int argc, char** argv) {
  int rank, size, each = atoi(getenv("FGMPI_NFG"));
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 2 + size / each) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int i = 0; i < atoi(argv[1]); ++i) {
    int sent = rank + i, got = -1, from = (rank + size - 1) % size;
    MPI_Sendrecv(&sent, 1, MPI_INT, (rank + 1) % size, i, &got, 1, MPI_INT, from, i, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (got != from + i) MPI_Abort(MPI_COMM_WORLD, 4);
  }
  MPI_Finalize();
  if (rank % each == each - 1) compute(atoi(argv[2 + rank / each]));
  return 0;
}
