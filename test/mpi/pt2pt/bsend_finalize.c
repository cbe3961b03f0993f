/* MPI_Finalize sends what is in the attached buffer: it may be used for other things as soon as it
 * returns. */
#include <string.h>
#include <unistd.h>

#include "mpitest.h"

int main(int argc, char** argv) {
  enum { kBytes = 300000 };
  int rank, size;
  char *message = malloc(kBytes), *buffer = malloc(kBytes + MPI_BSEND_OVERHEAD);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    memset(message, 7, kBytes);
    OK(MPI_Buffer_attach(buffer, kBytes + MPI_BSEND_OVERHEAD));
    OK(MPI_Bsend(message, kBytes, MPI_CHAR, size - 1, 0, MPI_COMM_WORLD));
  }
  if (rank == size - 1) {
    usleep(50000);
    OK(MPI_Recv(message, kBytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < kBytes; i++) CHECK(message[i] == 7);
    printf(" No Errors\n");
  }
  OK(MPI_Finalize());
  memset(buffer, 0, kBytes + MPI_BSEND_OVERHEAD);
  free(buffer);
  free(message);
  return 0;
}
