/* Rank 0 asks for a number; a bad one is an error message of the program's own and exit without
 * MPI_Finalize. */
#include <stdio.h>
#include "mpi.h"

int n;

main(argc, argv) int argc;
char** argv;
{
  int me;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  if (me == 0) {
    printf("How many? ");
    fflush(stdout);
    if (scanf("%d", &n) != 1 || n < 1) {
      fprintf(stderr, "asks: a positive number, please\n");
      exit(3);
    }
  }
  MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (me == 0) printf("%d it is\n", n);
  MPI_Finalize();
  return 0;
}
