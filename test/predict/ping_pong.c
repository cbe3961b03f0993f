/* Messages to and fro: prints the bytes and the time of a message, us, for each size of the command line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  enum { ROUNDS = 10 };
  int rank;
  char* data = calloc(1, 8 << 20);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int a = 1; a < argc; ++a) {
    const int bytes = atoi(argv[a]);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < 2 * ROUNDS; ++i) {
      if (rank == i % 2) MPI_Send(data, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
      if (rank == 1 - i % 2)
        MPI_Recv(data, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0) printf("%d %.3f\n", bytes, (MPI_Wtime() - begin) * 1e6 / ROUNDS / 2);
  }
  MPI_Finalize();
  return 0;
}
