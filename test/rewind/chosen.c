// Fails in one order of two messages only, which mpiexec -explore finds.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank > 0) MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  for (int i = 1; rank == 0 && i < 3; ++i) {
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("message of rank %d\n", value);
    fflush(stdout);
    if (i == 1 && value == 2) MPI_Abort(MPI_COMM_WORLD, 9);
  }
  MPI_Finalize();
  return 0;
}
