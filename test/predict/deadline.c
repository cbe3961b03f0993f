/* A rank that polls until a message comes ("poll"), until a message or a time has come ("timeout"), or that looks at the clock
 * alone ("clock"). */
#include <mpi.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, there = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double begin = MPI_Wtime();
  if (rank == 1) {
    while (MPI_Wtime() - begin < 1e-4 && argc > 1 && !strcmp(argv[1], "clock")) {
    }
    MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) {
    while (!there) {
      MPI_Iprobe(1, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
      if (argc > 1 && !strcmp(argv[1], "timeout") && MPI_Wtime() - begin > 1) break;
    }
    MPI_Recv(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
