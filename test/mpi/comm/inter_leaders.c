/* Members of one process that give MPI_Intercomm_create different local leaders get an error, none
 * of them a leader's part. */
#include "mpitest.h"

int main(int argc, char** argv) {
  int rank, size, class = 0;
  MPI_Comm inter = MPI_COMM_WORLD;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  /* Each of the first two takes the other for the leader. */
  OK(MPI_Error_class(MPI_Intercomm_create(MPI_COMM_WORLD, rank == 0, MPI_COMM_NULL, 0, 5, &inter),
                     &class));
  CHECK(class == MPI_ERR_OTHER && inter == MPI_COMM_NULL);
  return finish();
}
