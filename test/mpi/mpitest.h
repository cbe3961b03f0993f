/* What the MPI test programs share: a check that names its place and ends the job, and the closing
 * line. */
#ifndef FGMPI_TEST_MPITEST_H
#define FGMPI_TEST_MPITEST_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(cond)                                                                         \
  do {                                                                                      \
    if (!(cond)) {                                                                          \
      int check_rank_ = -1;                                                                 \
      MPI_Comm_rank(MPI_COMM_WORLD, &check_rank_);                                          \
      fprintf(stderr, "%s:%d: rank %d: expected was %s\n", __FILE__, __LINE__, check_rank_, \
              #cond);                                                                       \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                         \
    }                                                                                       \
  } while (0)

/* A call that must succeed. */
#define OK(call) CHECK((call) == MPI_SUCCESS)

/* Prints the closing line once all ranks have got here, finalizes, and gives main's return
 * value. */
static inline int finish(void) {
  int rank;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  if (rank == 0) printf(" No Errors\n");
  OK(MPI_Finalize());
  return 0;
}

#endif
