/* Jacobi iterations of Laplace's equation on a square split over a 2-D Cartesian communicator,
 * compared with the same iterations done by one rank alone: the answer must be the same to the last
 * bit. */
#include <math.h>
#include <string.h>

#include "mpitest.h"

enum { kCells = 48, kSteps = 25 };

static double boundary(int i, int j) { return sin(0.3 * i) + 0.01 * j * j; }

static void step(const double* old, double* new_, int rows, int columns) {
  int w = columns + 2;
  for (int i = 1; i <= rows; ++i)
    for (int j = 1; j <= columns; ++j)
      new_[i * w + j] = 0.25 * (old[(i - 1) * w + j] + old[(i + 1) * w + j] + old[i * w + j - 1] +
                                old[i * w + j + 1]);
}

static int low(int part, int parts) { return (int)((long)kCells * part / parts); }

int main(int argc, char** argv) {
  int size, rank, dims[2] = {0, 0}, periods[2] = {0, 0}, coords[2], up, down, left, right;
  MPI_Comm grid;
  MPI_Datatype column;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Dims_create(size, 2, dims));
  CHECK(dims[0] * dims[1] == size);
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid));
  OK(MPI_Comm_rank(grid, &rank));
  OK(MPI_Cart_coords(grid, rank, 2, coords));
  OK(MPI_Cart_shift(grid, 0, 1, &up, &down));
  OK(MPI_Cart_shift(grid, 1, 1, &left, &right));
  int r0 = low(coords[0], dims[0]), r1 = low(coords[0] + 1, dims[0]);
  int c0 = low(coords[1], dims[1]), c1 = low(coords[1] + 1, dims[1]);
  int rows = r1 - r0, columns = c1 - c0, w = columns + 2;
  double* a = calloc((size_t)(rows + 2) * w, sizeof(double));
  double* b = calloc((size_t)(rows + 2) * w, sizeof(double));
  for (int i = 0; i < rows + 2; ++i)
    for (int j = 0; j < w; ++j) {
      int gi = r0 + i, gj = c0 + j;
      double value =
          gi == 0 || gj == 0 || gi == kCells + 1 || gj == kCells + 1 ? boundary(gi, gj) : 0;
      a[i * w + j] = b[i * w + j] = value;
    }
  OK(MPI_Type_vector(rows, 1, w, MPI_DOUBLE, &column));
  OK(MPI_Type_commit(&column));
  for (int s = 0; s < kSteps; ++s) {
    MPI_Request requests[8];
    OK(MPI_Irecv(a + 1, columns, MPI_DOUBLE, up, 1, grid, &requests[0]));
    OK(MPI_Irecv(a + (rows + 1) * w + 1, columns, MPI_DOUBLE, down, 2, grid, &requests[1]));
    OK(MPI_Irecv(a + w, 1, column, left, 3, grid, &requests[2]));
    OK(MPI_Irecv(a + w + columns + 1, 1, column, right, 4, grid, &requests[3]));
    OK(MPI_Isend(a + rows * w + 1, columns, MPI_DOUBLE, down, 1, grid, &requests[4]));
    OK(MPI_Isend(a + w + 1, columns, MPI_DOUBLE, up, 2, grid, &requests[5]));
    OK(MPI_Isend(a + w + columns, 1, column, right, 3, grid, &requests[6]));
    OK(MPI_Isend(a + w + 1, 1, column, left, 4, grid, &requests[7]));
    OK(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
    step(a, b, rows, columns);
    double* t = a;
    a = b;
    b = t;
  }
  double* x = calloc((size_t)(kCells + 2) * (kCells + 2), sizeof(double));
  double* y = calloc((size_t)(kCells + 2) * (kCells + 2), sizeof(double));
  for (int i = 0; i < kCells + 2; ++i)
    for (int j = 0; j < kCells + 2; ++j)
      if (i == 0 || j == 0 || i == kCells + 1 || j == kCells + 1)
        x[i * (kCells + 2) + j] = y[i * (kCells + 2) + j] = boundary(i, j);
  for (int s = 0; s < kSteps; ++s) {
    step(x, y, kCells, kCells);
    double* t = x;
    x = y;
    y = t;
  }
  for (int i = 1; i <= rows; ++i)
    for (int j = 1; j <= columns; ++j) CHECK(a[i * w + j] == x[(r0 + i) * (kCells + 2) + c0 + j]);
  OK(MPI_Type_free(&column));
  OK(MPI_Comm_free(&grid));
  free(a), free(b), free(x), free(y);
  return finish();
}
