/* Tables in static memory, 16 MB a rank, and functions that nobody declared. */
#include "mpi.h"

static double table[2000000];
int calls;

main(argc, argv) int argc;
char** argv;
{
  int me, all, i;
  double sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  for (i = 0; i < 2000000; i += 5000) table[i] = me;
  MPI_Barrier(MPI_COMM_WORLD);
  for (i = 0; i < 2000000; i += 5000)
    if (table[i] != me || look(i) != i + 1) abort();
  if (calls != 400) abort();
  MPI_Finalize();
  exit(0);
}

look(i) {
  calls++;
  return i + 1;
}
