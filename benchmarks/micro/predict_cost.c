/* The traffic of three kinds of programs, for what mpiexec -predict adds to a message (predict_cost.py).
 *   predict_cost ring|stencil|gradient STEPS [DOUBLES]
 * ring: a message to the next rank; stencil: halves with four neighbours; gradient: the same and two sums over all ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 128 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 1);
  const int steps = atoi(argv[2]), words = argc > 3 ? atoi(argv[3]) : kMost,
            is_ring = argv[1][0] == 'r', sums = argv[1][0] == 'g';
  int dims[2] = {0, 0}, wraps[2] = {1, 1}, size, next[4];
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (is_ring) dims[1] = 1;
  MPI_Dims_create(size, 2, dims);
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, wraps, 0, &grid);
  MPI_Cart_shift(grid, 0, 1, &next[0], &next[1]);
  MPI_Cart_shift(grid, 1, 1, &next[2], &next[3]);
  const int neighbours = is_ring ? 2 : 4;
  static double in[4][kMost], out[4][kMost];
  double sum = 0;
  for (int step = 0; step < steps; ++step) {
    MPI_Request request[8];
    int n = 0;
    for (int i = 0; i < neighbours; ++i)
      MPI_Irecv(in[i], words, MPI_DOUBLE, next[i], i ^ 1, grid, &request[n++]);
    for (int i = 0; i < neighbours; ++i)
      MPI_Isend(out[i], words, MPI_DOUBLE, next[i], i, grid, &request[n++]);
    MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
    for (int i = 0; sums && i < 2; ++i)
      MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, grid);
  }
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return 0;
}
