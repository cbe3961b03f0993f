/* A program that does what the report speaks of: bad MILLISECONDS ROUNDS. Rank 1 computes
 * MILLISECONDS in each round before it sends; rank 0 receives from all in the order of ranks; every
 * rank sends 100 numbers one by one to the next; a communicator is made in each round and not
 * freed; rank 0 takes messages from any source. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static double processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* In processor time, so that a machine with other work makes no difference. */
static void compute(double seconds) {
  const double begin = processor_seconds();
  volatile double x = 1;
  while (processor_seconds() - begin < seconds) x = x * 1.0000001;
}

int main(int argc, char** argv) {
  int rank, size, value = 0, other;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double seconds = atof(argv[1]) * 1e-3;
  for (int round = 0; round < atoi(argv[2]); ++round) {
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    if (rank == 1) compute(seconds);
    if (rank != 0) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    for (int from = 1; rank == 0 && from < size; ++from)
      MPI_Recv(&other, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 100; ++i)
      MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD);
    for (int i = 0; i < 100; ++i)
      MPI_Recv(&other, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    for (int from = 1; rank == 0 && from < size; ++from)
      MPI_Recv(&other, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return MPI_Finalize();
}
