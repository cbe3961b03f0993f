/* Heat on a square plate, one small tile for each of many ranks: Cartesian communicator, columns by
 * a vector type.
 *
 *   mpiexec -ranks 10000 stencil [STEPS]
 *
 * The plate has 4 x 4 cells a rank and a hot edge. What flows in at the edge is what the plate
 * gains: checked. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4, W = N + 2 }; /* cells of a tile in each direction, and with the neighbours' */

static double tile[W][W], next[W][W];

int main(int argc, char** argv) {
  int size, dims[2] = {0, 0}, periods[2] = {0, 0}, up, down, left, right;
  int steps = argc > 1 ? atoi(argv[1]) : 50;
  MPI_Comm plate;
  MPI_Datatype column;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &plate);
  MPI_Cart_shift(plate, 0, 1, &up, &down);
  MPI_Cart_shift(plate, 1, 1, &left, &right);
  MPI_Type_vector(N, 1, W, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);

  double start = MPI_Wtime(), flowed_in = 0;
  for (int s = 0; s < steps; ++s) {
    MPI_Sendrecv(tile[N] + 1, N, MPI_DOUBLE, down, 0, tile[0] + 1, N, MPI_DOUBLE, up, 0, plate,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(tile[1] + 1, N, MPI_DOUBLE, up, 0, tile[N + 1] + 1, N, MPI_DOUBLE, down, 0, plate,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&tile[1][N], 1, column, right, 0, &tile[1][0], 1, column, left, 0, plate,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&tile[1][1], 1, column, left, 0, &tile[1][N + 1], 1, column, right, 0, plate,
                 MPI_STATUS_IGNORE);
    for (int i = 1; i <= N; ++i) { /* isolated edges, but for the upper one, which is hot */
      if (left == MPI_PROC_NULL) tile[i][0] = tile[i][1];
      if (right == MPI_PROC_NULL) tile[i][N + 1] = tile[i][N];
      if (down == MPI_PROC_NULL) tile[N + 1][i] = tile[N][i];
      if (up == MPI_PROC_NULL) {
        tile[0][i] = 1;
        flowed_in += 0.2 * (1 - tile[1][i]);
      }
    }
    for (int i = 1; i <= N; ++i)
      for (int j = 1; j <= N; ++j)
        next[i][j] = tile[i][j] + 0.2 * (tile[i - 1][j] + tile[i + 1][j] + tile[i][j - 1] +
                                         tile[i][j + 1] - 4 * tile[i][j]);
    for (int i = 1; i <= N; ++i)
      for (int j = 1; j <= N; ++j) tile[i][j] = next[i][j];
  }
  double mine[2] = {0, flowed_in}, sum[2];
  for (int i = 1; i <= N; ++i)
    for (int j = 1; j <= N; ++j) mine[0] += tile[i][j];
  MPI_Allreduce(mine, sum, 2, MPI_DOUBLE, MPI_SUM, plate);
  int rank, good = fabs(sum[0] - sum[1]) < 1e-9 * sum[1];
  MPI_Comm_rank(plate, &rank);
  if (rank == 0)
    printf("%d x %d ranks, %d steps in %.2f s: heat %.6f, flowed in %.6f: %s\n", dims[0], dims[1],
           steps, MPI_Wtime() - start, sum[0], sum[1], good ? "right" : "WRONG");
  MPI_Type_free(&column);
  MPI_Comm_free(&plate);
  MPI_Finalize();
  return !good;
}
