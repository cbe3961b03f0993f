/* Each rank has an argument vector of its own, also where ranks have no variables of their own,
 * because the program has none (as this one) or by FGMPI_PRIVATIZE=off: what one does to its words
 * before MPI_Init, or later, is not seen by others. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  const char name[] = "arguments";
  const size_t length = strlen(argv[0]), own = sizeof name - 1;
  char** const words = argv;
  int rank = -1,
      good = argc == 1 && !argv[1] && length >= own && !strcmp(argv[0] + length - own, name);
  memset(argv[0], 'x', length);
  argv[0] = argv[0] + length;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  good = good && argv == words && argv[0][0] == 0 && argv[0][-1] == 'x';
  argv[0] = NULL;
  MPI_Barrier(MPI_COMM_WORLD);
  if (!good) {
    fprintf(stderr, "rank %d: not the arguments that the process was given\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank == 0) printf(" No Errors\n");
  return MPI_Finalize();
}
