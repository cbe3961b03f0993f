/* Ranks of different processes that do not agree. No call returns: the deadlock report must name
 * the call of each rank, or an error the processes that give other roots (mismatch_between.sh). */
#include <string.h>

#include "mpitest.h"

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size, value[64] = {0}, out[4096];
  const char* what = argc > 1 ? argv[1] : "";
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  int second = rank >= size / 2;
  if (strcmp(what, "roots") == 0) {
    /* Each process waits for the other's root. */
    OK(MPI_Bcast(value, 64, MPI_INT, second ? 0 : size - 1, MPI_COMM_WORLD));
  } else if (strcmp(what, "order") == 0) {
    if (second) OK(MPI_Allgather(value, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (!second) OK(MPI_Allgather(value, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD));
  } else if (strcmp(what, "missing") == 0) {
    if (rank != size - 1) OK(MPI_Allreduce(value, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (rank == size - 1) OK(MPI_Recv(value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  } else if (strcmp(what, "kinds") == 0) {
    /* A nonblocking collective never matches a blocking one. */
    MPI_Request request = MPI_REQUEST_NULL;
    if (second)
      OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    else
      OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else if (strcmp(what, "nonblocking") == 0) {
    MPI_Request request;
    if (second)
      OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    else
      OK(MPI_Iallreduce(value, out, 64, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  return finish();
}
