/* exits RANK STATUS: the function of this rank calls exit(STATUS) after MPI_Finalize. For
 * ends.sh. */
#include <fgmpi.h>

#include "mpitest.h"

static int process(int argc, char** argv) {
  int rank;
  OK(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  OK(MPI_Finalize());
  if (rank == atoi(argv[1])) exit(atoi(argv[2]));
  return 1;
}

static FG_ProcessPtr_t map(int argc, char** argv, int rank) {
  (void)argc, (void)argv, (void)rank;
  return &process;
}

static FG_MapPtr_t lookup(int argc, char** argv, char* name) {
  (void)argc, (void)argv, (void)name;
  return &map;
}

int main(int argc, char* argv[]) {
  FGmpiexec(&argc, &argv, &lookup);
  printf("main goes on\n");
  return 0;
}
