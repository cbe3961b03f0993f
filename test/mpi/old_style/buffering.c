/* All send before they receive, many messages: only buffering lets it end. */
#include <stdlib.h>
#include "mpi.h"

#define COUNT 20000

int main(argc, argv)
int argc;
char** argv;
{
  int me, all, i, got;
  MPI_Status status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  for (i = 0; i < COUNT; i++) MPI_Send(&i, 1, MPI_INT, (me + 1) % all, 7, MPI_COMM_WORLD);
  for (i = 0; i < COUNT; i++) {
    MPI_Recv(&got, 1, MPI_INT, (me + all - 1) % all, 7, MPI_COMM_WORLD, &status);
    if (got != i) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  exit(0);
}
