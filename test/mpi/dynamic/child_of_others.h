/* What a child does, whatever language it and its parents are written in: each of both sides gives
 * its rank, both sums are right, and each child has globals of its own. */
#ifndef FGMPI_TEST_DYNAMIC_CHILD_OF_OTHERS_H
#define FGMPI_TEST_DYNAMIC_CHILD_OF_OTHERS_H

#include <string.h>

#include "mpitest.h"

static inline void greet(MPI_Comm inter) {
  int rank, remote, sum = -1;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_remote_size(inter, &remote));
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter));
  CHECK(sum == remote * (remote - 1) / 2);
}

static inline int greet_parents(int argc, char** argv) {
  MPI_Comm parent;
  CHECK(argc == 2 && strcmp(argv[1], "an argument") == 0);
  OK(MPI_Comm_get_parent(&parent));
  CHECK(parent != MPI_COMM_NULL);
  greet(parent);
  OK(MPI_Comm_disconnect(&parent));
  return MPI_Finalize();
}

#endif
