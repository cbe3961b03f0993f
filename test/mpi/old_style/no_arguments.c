/* MPI_Init without arguments, main without a type and a parameter list. */
#include "mpi.h"

main() {
  int me, sum;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
