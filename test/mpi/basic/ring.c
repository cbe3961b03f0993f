/* A token goes round the ring several times and counts the ranks. */
#include "mpitest.h"

int main(int argc, char** argv) {
  int rank, size, round;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (round = 0; round < 10; ++round) {
    long token = 0;
    MPI_Status status;
    if (rank == 0) {
      MPI_Request request;
      token = 1;
      OK(MPI_Isend(&token, 1, MPI_LONG, next, round, MPI_COMM_WORLD, &request));
      long back = -1;
      OK(MPI_Recv(&back, 1, MPI_LONG, previous, round, MPI_COMM_WORLD, &status));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK(back == size);
    } else {
      OK(MPI_Recv(&token, 1, MPI_LONG, previous, round, MPI_COMM_WORLD, &status));
      ++token;
      OK(MPI_Send(&token, 1, MPI_LONG, next, round, MPI_COMM_WORLD));
    }
    CHECK(status.MPI_SOURCE == previous && status.MPI_TAG == round);
  }
  return finish();
}
