/* Conjugate gradient on a 1-D Laplacian split over the ranks: halo exchange and dot products. The
 * solution of A x = A*ones must be ones. */
#include <math.h>

#include "mpitest.h"

enum { kUnknowns = 400 };

static double dot(const double* a, const double* b, int n) {
  double local = 0, global;
  for (int i = 0; i < n; ++i) local += a[i] * b[i];
  OK(MPI_Allreduce(&local, &global, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  return global;
}

/* y = A x; x has one ghost cell on each side (x[-1] and x[n]). */
static void apply(double* x, double* y, int n, int left, int right) {
  OK(MPI_Sendrecv(&x[0], n > 0, MPI_DOUBLE, left, 0, &x[n], n > 0, MPI_DOUBLE, right, 0,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Sendrecv(&x[n - 1], n > 0, MPI_DOUBLE, right, 1, &x[-1], n > 0, MPI_DOUBLE, left, 1,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < n; ++i) y[i] = 2.5 * x[i] - x[i - 1] - x[i + 1];
}

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  int used = size < kUnknowns ? size : kUnknowns; /* ranks that own unknowns */
  int n =
      rank < used ? (int)((long)kUnknowns * (rank + 1) / used - (long)kUnknowns * rank / used) : 0;
  int left = rank > 0 && rank < used ? rank - 1 : MPI_PROC_NULL;
  int right = rank + 1 < used ? rank + 1 : MPI_PROC_NULL;
  double* memory = calloc(5 * (size_t)(n + 2), sizeof(double));
  double *x = memory + 1, *r = x + n + 2, *p = r + n + 2, *q = p + n + 2, *ones = q + n + 2;
  for (int i = 0; i < n; ++i) ones[i] = 1;
  apply(ones, r, n, left, right);
  for (int i = 0; i < n; ++i) p[i] = r[i];
  double rr = dot(r, r, n);
  int iterations = 0;
  while (rr > 1e-24 && iterations < 500) {
    apply(p, q, n, left, right);
    double alpha = rr / dot(p, q, n);
    for (int i = 0; i < n; ++i) x[i] += alpha * p[i], r[i] -= alpha * q[i];
    double next = dot(r, r, n);
    for (int i = 0; i < n; ++i) p[i] = r[i] + next / rr * p[i];
    rr = next;
    ++iterations;
  }
  CHECK(iterations < 500);
  for (int i = 0; i < n; ++i) CHECK(fabs(x[i] - 1) < 1e-9);
  free(memory);
  return finish();
}
