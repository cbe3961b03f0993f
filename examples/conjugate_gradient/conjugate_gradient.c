/* Conjugate gradients for the one-dimensional Poisson equation: neighbours' values and two sums an
 * iteration.
 *
 *   mpiexec -ranks 1000 conjugate_gradient
 *
 * n points for n ranks x 2; the solution of -u'' = 1 is known, and conjugate gradients reach it in
 * at most n steps. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>

enum { N = 2 }; /* points of a rank */

static int rank, size;

static double dot(const double* a, const double* b) {
  double mine = 0, sum;
  for (int i = 0; i < N; ++i) mine += a[i] * b[i];
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

/* out = A p, A the matrix with 2 on the diagonal and -1 beside it. */
static void multiply(const double* p, double* out) {
  double before = 0, after = 0;
  int left = rank > 0 ? rank - 1 : MPI_PROC_NULL,
      right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(&p[N - 1], 1, MPI_DOUBLE, right, 0, &before, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(&p[0], 1, MPI_DOUBLE, left, 0, &after, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < N; ++i)
    out[i] = 2 * p[i] - (i > 0 ? p[i - 1] : before) - (i < N - 1 ? p[i + 1] : after);
}

int main(int argc, char** argv) {
  double x[N], r[N], p[N], q[N];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int n = N * size, steps = 0;
  double h = 1.0 / (n + 1);
  for (int i = 0; i < N; ++i) {
    x[i] = 0;
    r[i] = p[i] = h * h;
  }
  double rr = dot(r, r), first = rr;
  while (rr > 1e-24 * first && steps <= n) {
    multiply(p, q);
    double alpha = rr / dot(p, q);
    for (int i = 0; i < N; ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    double old = rr;
    rr = dot(r, r);
    for (int i = 0; i < N; ++i) p[i] = r[i] + rr / old * p[i];
    ++steps;
  }
  double error = 0, largest;
  for (int i = 0; i < N; ++i) {
    double at = (rank * N + i + 1) * h;
    error = fmax(error, fabs(x[i] - at * (1 - at) / 2));
  }
  MPI_Allreduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d points on %d ranks: %d steps, largest error %.1e: %s\n", n, size, steps, largest,
           largest < 1e-9 ? "right" : "WRONG");
  MPI_Finalize();
  return largest >= 1e-9;
}
