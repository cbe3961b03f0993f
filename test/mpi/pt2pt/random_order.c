/* Rank 0 prints in which order messages of the others match its wildcard receives. Run by
 * random_order.sh. */
#include "mpitest.h"

int main(int argc, char** argv) {
  enum { kEach = 6 };
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    int next[64] = {0};
    CHECK(size <= 64);
    for (int i = 0; i < kEach * (size - 1); i++) {
      int x;
      MPI_Status s;
      OK(MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s));
      CHECK(x == next[s.MPI_SOURCE]++ && s.MPI_TAG == x % 2); /* in order from each */
      printf("%d ", s.MPI_SOURCE);
    }
    printf("\n");
  } else {
    for (int i = 0; i < kEach; i++) OK(MPI_Ssend(&i, 1, MPI_INT, 0, i % 2, MPI_COMM_WORLD));
  }
  MPI_Finalize();
  return 0;
}
