/* Rank 0 is late for a receive (rank 1) and for a wait (rank 2) by 10 ms; rank 3, on the other node,
 * waits for all in a barrier. Rank 0 sends a long message to rank 2, which takes it late. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

enum { LONG = 1 << 20 };

int main(int argc, char** argv) {
  int rank, size, code = 1;
  char* buffer = calloc(1, LONG);
  MPI_Request requests[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    usleep(10000);
    MPI_Send(&code, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    MPI_Send(&code, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
    MPI_Send(buffer, LONG, MPI_CHAR, 2, 1, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(&code, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 2) {
    MPI_Irecv(&code, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    usleep(5000);
    MPI_Recv(buffer, LONG, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  free(buffer);
  return 0;
}
