/* A task farm: farm TASKS MICROSECONDS. Rank 0 hands out tasks of up to twice so long to whoever
 * asks by a message of 4 KiB, and one of no length to each at the end. */
#include <mpi.h>
#include <stdlib.h>

static void compute(double seconds) {
  const double begin = MPI_Wtime();
  volatile double x = 1;
  while (MPI_Wtime() - begin < seconds) x = x * 1.0000001;
}
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int tasks = atoi(argv[1]), longest = 2 * atoi(argv[2]);
  double result[512] = {0};
  if (rank == 0) {
    int ended = 0;
    for (int given = 0; ended < size - 1;) {
      MPI_Status status;
      MPI_Recv(result, 512, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      int length = given < tasks ? rand() % longest + 1 : 0;
      ++given;
      ended += length == 0;
      MPI_Send(&length, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
  } else {
    for (;;) {
      int length;
      MPI_Send(result, 512, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
      MPI_Recv(&length, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (length == 0) break;
      compute(length * 1e-6);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
