/* Cartesian topologies, with and without reordering; Dims_create. */
#include <string.h>

#include "mpitest.h"

static void check_grid(MPI_Comm grid, int ndims, const int dims[], const int periods[]) {
  int n, rank, topo, i, k, got_dims[4], got_periods[4], coords[4], back, source, dest;
  OK(MPI_Topo_test(grid, &topo));
  CHECK(topo == MPI_CART);
  OK(MPI_Cartdim_get(grid, &n));
  CHECK(n == ndims);
  OK(MPI_Comm_rank(grid, &rank));
  OK(MPI_Cart_get(grid, 4, got_dims, got_periods, coords));
  for (i = 0, k = 0; i < n; ++i) {
    CHECK(got_dims[i] == dims[i] && got_periods[i] == periods[i]);
    CHECK(coords[i] >= 0 && coords[i] < dims[i]);
    k = k * dims[i] + coords[i];
  }
  CHECK(k == rank); /* row-major */
  OK(MPI_Cart_rank(grid, coords, &back));
  CHECK(back == rank);
  for (i = 0; i < n; ++i) {
    int value = rank, got = -5, expected[4];
    OK(MPI_Cart_shift(grid, i, 1, &source, &dest));
    memcpy(expected, coords, sizeof expected);
    expected[i]++;
    if (expected[i] < dims[i] || periods[i]) {
      OK(MPI_Cart_rank(grid, expected, &back));
      CHECK(back == dest);
    } else {
      CHECK(dest == MPI_PROC_NULL);
    }
    OK(MPI_Sendrecv(&value, 1, MPI_INT, dest, 1, &got, 1, MPI_INT, source, 1, grid,
                    MPI_STATUS_IGNORE));
    CHECK(got == (source == MPI_PROC_NULL ? -5 : source));
  }
}

static void test_dims(void) {
  int d[3] = {0, 0, 0}, e[2] = {0, 0}, f[3] = {0, 3, 0}, g[1] = {0};
  OK(MPI_Dims_create(6, 2, e));
  CHECK(e[0] == 3 && e[1] == 2);
  OK(MPI_Dims_create(72, 3, d));
  CHECK(d[0] == 6 && d[1] == 4 && d[2] == 3);
  OK(MPI_Dims_create(6, 3, f));
  CHECK(f[0] == 2 && f[1] == 3 && f[2] == 1);
  OK(MPI_Dims_create(7, 1, g));
  CHECK(g[0] == 7);
  f[0] = f[2] = 0;
  CHECK(MPI_Dims_create(7, 3, f) != MPI_SUCCESS);
}

int main(int argc, char** argv) {
  int rank, size, reorder, ndims, color;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  test_dims();
  for (reorder = 0; reorder < 2; ++reorder) {
    for (ndims = 1; ndims <= 3; ++ndims) {
      int dims[3] = {0, 0, 0}, periods[3] = {1, 0, 1}, remain[3] = {0, 1, 1}, mapped, i, n,
          grid_rank;
      MPI_Comm grid, sub, copy;
      OK(MPI_Dims_create(size, ndims, dims));
      OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, reorder, &grid));
      CHECK(grid != MPI_COMM_NULL);
      check_grid(grid, ndims, dims, periods);
      OK(MPI_Comm_rank(grid, &grid_rank));
      if (!reorder) CHECK(grid_rank == rank);
      OK(MPI_Cart_map(MPI_COMM_WORLD, ndims, dims, periods, &mapped));
      if (reorder) CHECK(mapped == grid_rank);
      OK(MPI_Comm_dup(grid, &copy));
      check_grid(copy, ndims, dims, periods);
      OK(MPI_Comm_free(&copy));
      OK(MPI_Cart_sub(grid, remain, &sub));
      OK(MPI_Comm_size(sub, &n));
      for (i = 1, color = 1; i < ndims; ++i) color *= dims[i];
      CHECK(n == color);
      check_grid(sub, ndims - 1, dims + 1, periods + 1);
      OK(MPI_Comm_free(&sub));
      /* No dimension remains: a grid of none for each rank by itself (MPI-4.0 section 8.5.7). */
      int none[3] = {0, 0, 0};
      for (i = 0; i < 2; ++i) {
        OK(MPI_Cart_sub(i == 0 ? grid : copy, none, &sub));
        CHECK(sub != MPI_COMM_NULL);
        OK(MPI_Comm_size(sub, &n));
        CHECK(n == 1);
        OK(MPI_Cartdim_get(sub, &n));
        CHECK(n == 0);
        if (i == 1) OK(MPI_Comm_free(&copy));
        copy = sub;
      }
      OK(MPI_Comm_free(&sub));
      OK(MPI_Comm_free(&grid));
    }
  }
  {
    /* A grid of fewer places than ranks; too large; wrong coordinates. */
    int dims[1] = {size > 1 ? size - 1 : 1}, large[2] = {size, 2}, periods[2] = {0, 0},
        coords[1] = {-1}, r;
    MPI_Comm grid;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 1, &grid));
    CHECK((grid == MPI_COMM_NULL) == (rank >= dims[0]));
    if (grid != MPI_COMM_NULL) {
      check_grid(grid, 1, dims, periods);
      CHECK(MPI_Cart_rank(grid, coords, &r) != MPI_SUCCESS);
      OK(MPI_Comm_free(&grid));
    }
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 2, large, periods, 0, &grid) != MPI_SUCCESS);
    CHECK(MPI_Cart_coords(MPI_COMM_WORLD, 0, 1, coords) != MPI_SUCCESS);
    OK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &grid));
    CHECK((grid != MPI_COMM_NULL) == (rank == 0));
    if (grid != MPI_COMM_NULL) OK(MPI_Comm_free(&grid));
  }
  return finish();
}
