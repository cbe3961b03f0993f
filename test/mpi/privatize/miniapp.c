/* In the style of mini-apps: everything is a global. A one-dimensional heat equation with halo
 * exchange, whose result every rank compares with the whole problem solved alone: it differs if any
 * global were shared. */
#include <math.h>
#include <string.h>

#include "mpitest.h"

#define CELLS 24 /* per rank */
#define STEPS 40

int my_rank, num_ranks, left, right;
static double field[CELLS + 2], next_field[CELLS + 2];
static struct {
  int steps_done;
  double residual, total;
  MPI_Request requests[4];
} control;
double (*initial_value)(int cell);

static double bump(int cell) { return (cell % 7) * 0.5 + (cell % 3); }

static void exchange_halos(void) {
  static int exchanges;
  MPI_Request* r = control.requests;
  MPI_Status statuses[4];
  OK(MPI_Irecv(&field[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Irecv(&field[CELLS + 1], 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &r[1]));
  OK(MPI_Isend(&field[1], 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &r[2]));
  OK(MPI_Isend(&field[CELLS], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &r[3]));
  OK(MPI_Waitall(4, r, statuses));
  CHECK(++exchanges == control.steps_done + 1);
}

static void relax(double* to, const double* from, int cells, double* residual) {
  int i;
  *residual = 0;
  for (i = 1; i <= cells; ++i) {
    to[i] = from[i] + 0.25 * (from[i - 1] - 2 * from[i] + from[i + 1]);
    *residual = fmax(*residual, fabs(to[i] - from[i]));
  }
}

static void step(void) {
  double mine;
  exchange_halos();
  relax(next_field, field, CELLS, &mine);
  memcpy(field, next_field, sizeof field);
  OK(MPI_Allreduce(&mine, &control.residual, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  control.steps_done++;
}

/* The same on one rank; rings of the same cells give the same numbers, bit for bit. */
static void compare_with_alone(void) {
  int n = CELLS * num_ranks, i, s;
  double* a = malloc((size_t)(n + 2) * sizeof *a);
  double* b = malloc((size_t)(n + 2) * sizeof *b);
  double residual = 0;
  for (i = 1; i <= n; ++i) a[i] = bump(i - 1);
  for (s = 0; s < STEPS; ++s) {
    a[0] = a[n];
    a[n + 1] = a[1];
    relax(b, a, n, &residual);
    memcpy(a, b, (size_t)(n + 2) * sizeof *a);
  }
  CHECK(residual == control.residual);
  for (i = 1; i <= CELLS; ++i) CHECK(field[i] == a[my_rank * CELLS + i]);
  free(a);
  free(b);
}

int main(int argc, char** argv) {
  int i;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &my_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &num_ranks));
  left = (my_rank + num_ranks - 1) % num_ranks;
  right = (my_rank + 1) % num_ranks;
  initial_value = bump;
  for (i = 0; i < CELLS; ++i) field[i + 1] = initial_value(my_rank * CELLS + i);
  while (control.steps_done < STEPS) step();
  compare_with_alone();
  return finish();
}
