/* A chain of messages, whose critical path is known: each rank receives from the one before it, and sends to the next. All others wait
 * meanwhile; a rank that is not on the path sends much to itself. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const MPI_Comm w = MPI_COMM_WORLD;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(w, &rank);
  MPI_Comm_size(w, &size);
  char* data = calloc(5000, 1);
  for (int round = 0; round < 100; ++round) {
    if (rank > 0)
      MPI_Recv(data, 5000, MPI_CHAR, rank - 1, 0, w, MPI_STATUS_IGNORE); /* line received */
    else if (round > 0)
      MPI_Recv(data, 5000, MPI_CHAR, size - 1, 0, w, MPI_STATUS_IGNORE);
    MPI_Send(data, 5000, MPI_CHAR, (rank + 1) % size, 0, w); /* line sent */
  }
  if (rank == 0) MPI_Recv(data, 5000, MPI_CHAR, size - 1, 0, w, MPI_STATUS_IGNORE);
  free(data);
  MPI_Finalize();
  return 0;
}
