/* The large-count bindings, blocking, nonblocking and persistent; sizes beyond an int where a type
 * makes them cheap. */
#include <stdint.h>
#include <string.h>

#include "mpitest.h"

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  MPI_Request request;
  MPI_Count* counts = malloc(sizeof(MPI_Count) * (size_t)size);
  MPI_Aint* displs = malloc(sizeof(MPI_Aint) * (size_t)size);
  MPI_Datatype* types = malloc(sizeof(MPI_Datatype) * (size_t)size);
  int *in = malloc(sizeof(int) * (size_t)size * 2), *out = malloc(sizeof(int) * (size_t)size * 2);
  for (int r = 0; r < size; ++r) {
    counts[r] = 1 + r % 2;
    displs[r] = 2 * r;
    types[r] = MPI_INT;
  }
  int mine[2] = {rank, rank + 1000};

#define RESET \
  for (int i = 0; i < 2 * size; ++i) out[i] = -1
#define EXPECT(value)                            \
  for (int r = 0; r < size; ++r) {               \
    CHECK(out[2 * r] == (value));                \
    if (r % 2 == 0) CHECK(out[2 * r + 1] == -1); \
  }
  RESET;
  OK(MPI_Allgatherv_c(mine, counts[rank], MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD));
  EXPECT(r);
  RESET;
  OK(MPI_Iallgatherv_c(mine, counts[rank], MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD,
                       &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT(r);
  RESET;
  OK(MPI_Gatherv_init_c(mine, counts[rank], MPI_INT, out, counts, displs, MPI_INT, 0,
                        MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  OK(MPI_Start(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&request));
  if (rank == 0) EXPECT(r);
  for (int r = 0; r < size; ++r) {
    counts[r] = 1;
    in[2 * r] = rank * 1000 + r;
  }
  RESET;
  OK(MPI_Alltoallv_c(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD));
  EXPECT(r * 1000 + rank);
  for (int r = 0; r < size; ++r) displs[r] *= (MPI_Aint)sizeof(int);
  RESET;
  OK(MPI_Alltoallw_c(in, counts, displs, types, out, counts, displs, types, MPI_COMM_WORLD));
  EXPECT(r * 1000 + rank);

  int sum;
  OK(MPI_Allreduce_c(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == size * (size - 1) / 2);
  OK(MPI_Reduce_scatter_c(memset(in, 0, sizeof(int) * (size_t)size), &sum, counts, MPI_INT, MPI_SUM,
                          MPI_COMM_WORLD));
  CHECK(sum == 0);
  OK(MPI_Bcast_c(&sum, 1, MPI_INT, size - 1, MPI_COMM_WORLD));

  /* Three thousand million elements of no bytes. */
  MPI_Datatype nothing;
  OK(MPI_Type_contiguous(0, MPI_INT, &nothing));
  OK(MPI_Type_commit(&nothing));
  OK(MPI_Bcast_c(mine, (MPI_Count)3000000000, nothing, 0, MPI_COMM_WORLD));
  OK(MPI_Allgather_c(mine, (MPI_Count)3000000000, nothing, out, (MPI_Count)3000000000, nothing,
                     MPI_COMM_WORLD));
  OK(MPI_Type_free(&nothing));
  free(counts);
  free(displs);
  free(types);
  free(in);
  free(out);
  return finish();
}
