/* Divide and conquer with thousands of short-lived groups: adaptive integration of many functions.
 *
 *   mpiexec -n 2 -nfg 500 divide_and_conquer [INTEGRALS [TOLERANCE]]
 *
 * A group of ranks owns an interval. Its ranks sample the interval between them and sum up,
 * coarsely and finely. Where the two sums agree the group is done; else it splits in two, each half
 * with as many ranks as its share of the error is worth, and both go on. A rank that is alone goes
 * on by itself. Then the results are summed up and the next integral begins.
 *
 * A group only broadcasts, reduces and synchronises, and a rank's number in it is only a share of
 * the work, so any numbering will do: MPIX_SYSTEM_RANKED says so, and the library need not sort the
 * members or tell each of them who the others are. The program does the same with MPI_Comm_split,
 * compares the results, and prints both times. */
#include <fgmpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int system_ranked;
static long groups_made;

/* A function with a peak whose place depends on the integral. */
static double f(double x, double peak) {
  return 1 / (1e-5 + (x - peak) * (x - peak)) + sin(40 * x);
}

/* Sum of `samples` midpoints of [a, b]; this rank takes every size-th. */
static double share(double a, double b, double peak, int samples, int rank, int size) {
  double sum = 0, h = (b - a) / samples;
  for (int i = rank; i < samples; i += size) sum += f(a + (i + 0.5) * h, peak);
  return sum * h;
}

static double alone(double a, double b, double peak, double tolerance, int depth) {
  double middle = (a + b) / 2;
  double coarse = share(a, b, peak, 8, 0, 1);
  double fine = share(a, middle, peak, 8, 0, 1) + share(middle, b, peak, 8, 0, 1);
  if (fabs(fine - coarse) < tolerance || depth == 0) return fine;
  return alone(a, middle, peak, tolerance / 2, depth - 1) +
         alone(middle, b, peak, tolerance / 2, depth - 1);
}

/* This rank's part of the integral over [a, b], which all of `comm` work on. */
static double integrate(MPI_Comm comm, double a, double b, double peak, double tolerance) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (size == 1) return alone(a, b, peak, tolerance, 30);
  double middle = (a + b) / 2;
  double mine[4], sums[4];
  mine[0] = share(a, middle, peak, 4 * size, rank, size);
  mine[1] = share(middle, b, peak, 4 * size, rank, size);
  mine[2] = share(a, middle, peak, 8 * size, rank, size);
  mine[3] = share(middle, b, peak, 8 * size, rank, size);
  MPI_Allreduce(mine, sums, 4, MPI_DOUBLE, MPI_SUM, comm);
  double left = fabs(sums[2] - sums[0]), right = fabs(sums[3] - sums[1]);
  if (left + right < tolerance) return rank == 0 ? sums[2] + sums[3] : 0;
  int of_left = (int)(size * left / (left + right) + 0.5);
  if (of_left < 1) of_left = 1;
  if (of_left > size - 1) of_left = size - 1;
  int goes_left = rank < of_left;
  MPI_Comm half;
  if (system_ranked)
    MPIX_Comm_split(comm, goes_left, MPIX_SYSTEM_RANKED, &half);
  else
    MPI_Comm_split(comm, goes_left, 0, &half);
  ++groups_made;
  double part = goes_left ? integrate(half, a, middle, peak, tolerance / 2)
                          : integrate(half, middle, b, peak, tolerance / 2);
  MPI_Comm_free(&half);
  return part;
}

static double all_integrals(int integrals, double tolerance, double* seconds, long* groups) {
  double total = 0;
  groups_made = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  for (int i = 0; i < integrals; ++i) {
    double peak = (i * 37 % 101) / 101.0, part, sum;
    part = integrate(MPI_COMM_WORLD, 0, 1, peak, tolerance);
    MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    total += sum;
  }
  *seconds = MPI_Wtime() - begin;
  MPI_Reduce(&groups_made, groups, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  return total;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int integrals = argc > 1 ? atoi(argv[1]) : 20;
  double tolerance = argc > 2 ? atof(argv[2]) : 1e-7;
  double seconds[2], total[2];
  long memberships[2];
  for (system_ranked = 0; system_ranked < 2; ++system_ranked)
    total[system_ranked] =
        all_integrals(integrals, tolerance, &seconds[system_ranked], &memberships[system_ranked]);
  if (rank == 0) {
    printf("%d ranks, %d integrals: %.9g and %.9g\n", size, integrals, total[0], total[1]);
    printf("MPI_Comm_split      %8.3f s, memberships in groups %ld\n", seconds[0], memberships[0]);
    printf("MPIX_SYSTEM_RANKED  %8.3f s, memberships in groups %ld, %.2f of the time\n", seconds[1],
           memberships[1], seconds[1] / seconds[0]);
  }
  int wrong = fabs(total[0] - total[1]) > 1e-6 * fabs(total[0]);
  MPI_Finalize();
  return wrong;
}
