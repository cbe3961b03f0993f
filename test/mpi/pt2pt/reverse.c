/* 100,000 messages received in reverse order, and 100,000 posted receives matched in reverse order:
 * linear time. */
#include "mpitest.h"

int main(int argc, char** argv) {
  enum { kMessages = 100000 };
  int rank, size, x;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int to = size - 1;
  if (rank == 0 || rank == to) {
    MPI_Request* r = malloc(kMessages * sizeof *r);
    int* values = malloc(kMessages * sizeof *values);
    for (int wild = 0; wild < 2; wild++) {
      int any = wild ? MPI_ANY_SOURCE : 0;
      if (rank == 0)
        for (int i = 0; i < kMessages; i++) {
          values[i] = i;
          OK(MPI_Isend(&values[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &r[i]));
        }
      if (rank == to)
        for (int i = kMessages - 1; i >= 0; i--) {
          OK(MPI_Recv(&x, 1, MPI_INT, i % 3 ? 0 : any, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
          CHECK(x == i);
        }
      if (rank == 0) OK(MPI_Waitall(kMessages, r, MPI_STATUSES_IGNORE));
      if (rank == to) {
        for (int i = 0; i < kMessages; i++)
          OK(MPI_Irecv(&values[i], 1, MPI_INT, i % 3 ? 0 : any, i, MPI_COMM_WORLD, &r[i]));
        if (rank != 0) OK(MPI_Send(&x, 1, MPI_INT, 0, kMessages, MPI_COMM_WORLD));
      }
      if (rank == 0) {
        if (rank != to)
          OK(MPI_Recv(&x, 1, MPI_INT, to, kMessages, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = kMessages - 1; i >= 0; i--)
          OK(MPI_Send(&i, 1, MPI_INT, to, i, MPI_COMM_WORLD));
      }
      if (rank == to) {
        OK(MPI_Waitall(kMessages, r, MPI_STATUSES_IGNORE));
        for (int i = 0; i < kMessages; i++) CHECK(values[i] == i);
      }
    }
    free(r);
    free(values);
  }
  return finish();
}
