/* The transposes of a spectral code: a cube of n x n x n numbers in pencils on a p x p grid of
 * ranks, Fourier transforms along each direction, with row and column communicators made by
 * MPI_Comm_split between them.
 *
 *   mpiexec -ranks 256 spectral        (p x p ranks, p a power of two)
 *
 * A single wave becomes a single number: its place in the spectrum is checked. */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int n, p, m; /* cube's side, grid's side, pencil's side n / p */

/* Fourier transform of n numbers (a power of two), in place. */
static void fourier(double complex* x) {
  for (int i = 1, j = 0; i < n; ++i) { /* the order of reversed bits */
    int bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j |= bit;
    if (i < j) {
      double complex t = x[i];
      x[i] = x[j], x[j] = t;
    }
  }
  for (int length = 2; length <= n; length *= 2)
    for (int k = 0; k < length / 2; ++k) {
      double complex w = cexp(-2 * M_PI * I * k / length);
      for (int i = k; i < n; i += length) {
        double complex a = x[i], b = w * x[i + length / 2];
        x[i] = a + b, x[i + length / 2] = a - b;
      }
    }
}

/* Pencils along one direction become pencils along another: a[i][j][k] of m x m x n, member q gets
 * the k of its share. Afterwards out[k][i][J], J over all members' j. */
static void turn(const double complex* in, double complex* out, MPI_Comm line) {
  double complex *send = malloc(sizeof *send * m * m * n), *got = malloc(sizeof *got * m * m * n);
  for (int q = 0, at = 0; q < p; ++q)
    for (int k = 0; k < m; ++k)
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j) send[at++] = in[(i * m + j) * n + q * m + k];
  MPI_Alltoall(send, m * m * m, MPI_C_DOUBLE_COMPLEX, got, m * m * m, MPI_C_DOUBLE_COMPLEX, line);
  for (int q = 0, at = 0; q < p; ++q)
    for (int k = 0; k < m; ++k)
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j) out[(k * m + i) * n + q * m + j] = got[at++];
  free(send), free(got);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Comm row, column;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (p = 1; p * p < size; p *= 2) continue;
  if (p * p != size) {
    if (rank == 0)
      fprintf(stderr, "spectral: %d ranks: allowed are 1, 4, 16, 64, 256, ...\n", size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  m = p < 8 ? 8 / p : 2;
  n = m * p;
  int a = rank / p,
      b = rank % p; /* this rank has x in [a m, a m + m), y in [b m, b m + m), all z */
  MPI_Comm_split(MPI_COMM_WORLD, a, b, &row);
  MPI_Comm_split(MPI_COMM_WORLD, b, a, &column);

  int wave[3] = {1, n / 2 - 1, 3 % n};
  double complex *f = malloc(sizeof *f * m * m * n), *g = malloc(sizeof *g * m * m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j)
      for (int z = 0; z < n; ++z)
        f[(i * m + j) * n + z] =
            cexp(2 * M_PI * I * (wave[0] * (a * m + i) + wave[1] * (b * m + j) + wave[2] * z) / n);
  for (int line = 0; line < m * m; ++line) fourier(f + line * n); /* along z: [x][y][z] */
  turn(f, g, row); /* now [z][x][y], z in this rank's share of the row */
  for (int line = 0; line < m * m; ++line) fourier(g + line * n); /* along y */
  turn(g, f, column); /* now [y][z][x], y in its share of the column */
  for (int line = 0; line < m * m; ++line) fourier(f + line * n); /* along x */

  double wrong = 0, largest;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j)
      for (int x = 0; x < n; ++x) {
        int here = a * m + i == wave[1] && b * m + j == wave[2] && x == wave[0];
        wrong = fmax(wrong, cabs(f[(i * m + j) * n + x] / ((double)n * n * n) - here));
      }
  MPI_Allreduce(&wrong, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d x %d ranks, a cube of %d: largest error %.1e: %s\n", p, p, n, largest,
           largest < 1e-10 ? "right" : "WRONG");
  MPI_Comm_free(&row);
  MPI_Comm_free(&column);
  free(f), free(g);
  MPI_Finalize();
  return largest >= 1e-10;
}
