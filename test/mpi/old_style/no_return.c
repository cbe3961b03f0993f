/* main falls off its end: the status is what the last call left, MPI_Finalize's MPI_SUCCESS
 * here. */
#include <math.h>
#include <stdio.h>
#include "mpi.h"

main(argc, argv) char** argv;
{
  int n = 1000, me, all, i;
  double h, x, mypi, pi;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
  h = 1.0 / (double)n;
  mypi = 0.0;
  for (i = me + 1; i <= n; i += all) {
    x = h * ((double)i - 0.5);
    mypi += h * 4.0 / (1.0 + x * x);
  }
  MPI_Reduce(&mypi, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (me == 0 && fabs(pi - 3.14159265) > 1e-6) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
}
