/* MPI_UNIVERSE_SIZE and MPI_APPNUM:  universe RANKS [FIRST]. The universe has so many ranks, or
 * with -1 at least those of the job; program 1 begins at rank FIRST. */
#include <stdlib.h>

#include "mpitest.h"

int main(int argc, char** argv) {
  int rank, size, flag, *value, least, most;
  MPI_Init(&argc, &argv);
  CHECK(argc > 1);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
  CHECK(flag && *value >= size);
  if (atoi(argv[1]) >= 0) CHECK(*value == atoi(argv[1]));
  OK(MPI_Allreduce(value, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  OK(MPI_Allreduce(value, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  CHECK(least == most);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
  CHECK(flag && *value == (argc > 2 && rank >= atoi(argv[2])));
  return finish();
}
