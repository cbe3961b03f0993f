/* Linked into examples by predict_validation.py: prints the seconds from MPI_Init to the last rank's MPI_Finalize, and for how
 * long of them the rank that did so the longest was ready and had no core. */
#include <mpi.h>
#include <stdio.h>

#include "predict_start.h"

static double begin, waited;

int MPI_Init(int* argc, char*** argv) {
  const int code = PMPI_Init(argc, argv);
  begin = start_together();
  waited = waited_for_cores();
  return code;
}

int MPI_Finalize(void) {
  double mine[2], longest[2];
  int rank;
  mine[0] = PMPI_Wtime() - begin;
  mine[1] = waited_for_cores() - waited;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Reduce(mine, longest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("program 0 ranks %.6f s\nno core for %.6f s\n", longest[0], longest[1]);
  return PMPI_Finalize();
}
