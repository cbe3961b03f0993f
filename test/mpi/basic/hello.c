/* Each rank prints one line; world and self are right. */
#include "mpitest.h"

int main(int argc, char** argv) {
  int rank, size, self_rank, self_size, flag;
  OK(MPI_Initialized(&flag));
  CHECK(!flag);
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Initialized(&flag));
  CHECK(flag);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(rank >= 0 && rank < size);
  OK(MPI_Comm_rank(MPI_COMM_SELF, &self_rank));
  OK(MPI_Comm_size(MPI_COMM_SELF, &self_size));
  CHECK(self_rank == 0 && self_size == 1);
  printf("hello from %d of %d\n", rank, size);
  OK(MPI_Finalize());
  OK(MPI_Finalized(&flag));
  CHECK(flag);
  return 0;
}
