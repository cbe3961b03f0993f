/* What communicators cost (docs: memory budget), exactly as the library counts it: a regular one at
 * most 512 bytes a process whatever its size, and 64 bytes a member proclet. Duplicates, splits,
 * orders and grids of several sizes; then 1,000 kept at once, whose memory is given back. */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

/* The budget of a regular communicator, once collectives and messages have used it. */
static void check(MPI_Comm c, const char* what) {
  MPIX_Map_info info;
  int rank, size, i;
  long one = 1, sum;
  OK(MPI_Comm_rank(c, &rank));
  OK(MPI_Comm_size(c, &size));
  OK(MPI_Barrier(c));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, c));
  for (i = 0; i < 2; ++i)
    OK(MPI_Sendrecv(&one, 1, MPI_LONG, (rank + 1) % size, i, &sum, 1, MPI_LONG,
                    (rank + size - 1) % size, i, c, MPI_STATUS_IGNORE));
  OK(MPIX_Comm_map_info(c, &info));
  CHECK(strcmp(info.model, "lut") != 0);
  CHECK(info.process_bytes > 0 && info.map_bytes <= 128);
  if (info.process_bytes > 512 + 64LL * info.members) {
    fprintf(stderr, "%s of %d ranks: %lld bytes for %d members here\n", what, size,
            (long long)info.process_bytes, info.members);
    CHECK(0);
  }
}

int main(int argc, char** argv) {
  enum { kKeep = 1000 };
  int rank, size, i, dims[2] = {0, 0}, periods[2] = {1, 0};
  MPI_Comm c, half, back, grid, row, *kept = malloc(sizeof(MPI_Comm) * kKeep);
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
  check(c, "a duplicate");
  OK(MPI_Comm_split(c, rank % 2, rank, &half));
  check(half, "every second rank");
  OK(MPI_Comm_split(c, 0, -rank, &back));
  check(back, "ranks backwards");
  OK(MPI_Comm_free(&half));
  OK(MPI_Comm_split(back, rank < (size + 1) / 2, 0, &half));
  check(half, "half of it");
  OK(MPI_Dims_create(size, 2, dims));
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid));
  check(grid, "a grid");
  periods[1] = 1, periods[0] = 0;
  OK(MPI_Cart_sub(grid, periods, &row));
  check(row, "its row");
  OK(MPI_Comm_free(&row));
  OK(MPI_Comm_free(&grid));
  OK(MPI_Comm_free(&half));
  OK(MPI_Comm_free(&back));
  for (i = 0; i < kKeep; ++i) OK(MPI_Comm_dup(c, &kept[i]));
  for (i = 0; i < kKeep; i += 100) check(kept[i], "one of many duplicates");
  for (i = 0; i < kKeep; ++i) OK(MPI_Comm_free(&kept[i]));
  OK(MPI_Comm_free(&c));
  free(kept);
  return finish();
}
