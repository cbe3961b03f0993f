/* OpenMP inside ranks: a few processes on purpose, threads for the loops, one thread that
 * communicates.
 *
 *   OMP_NUM_THREADS=2 mpiexec -n 2 -nfg 4 hybrid
 *
 * Pi by the midpoint rule: threads add up a rank's part, ranks add up theirs. */
#include <math.h>
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, granted;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long n = 4000000;
  long first = n * rank / size, last = n * (rank + 1) / size;
  double mine = 0, sum;
  int threads = 1;
#pragma omp parallel for reduction(+ : mine)
  for (long i = first; i < last; ++i) {
    double x = (i + 0.5) / n;
    mine += 4 / (1 + x * x) / n;
  }
#pragma omp parallel
#pragma omp single
  threads = omp_get_num_threads();
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  int good = granted >= MPI_THREAD_FUNNELED && fabs(sum - acos(-1)) < 1e-10;
  if (rank == 0)
    printf("%d ranks of %d threads: pi is %.12f: %s\n", size, threads, sum,
           good ? "right" : "WRONG");
  MPI_Finalize();
  return !good;
}
