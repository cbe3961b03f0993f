/* Communicators of sessions alone, without MPI_Init: the tracker's ranks are those of the process
 * set mpi://WORLD. */
#include <mpi.h>
#include <stdlib.h>

int main(void) {
  MPI_Session session;
  MPI_Group world, upper;
  MPI_Comm all, some = MPI_COMM_NULL;
  int rank, size, sum = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  int range[1][3] = {{size - 1, 1, -1}};
  if (rank > 0) {
    MPI_Group_range_incl(world, 1, range, &upper);
    MPI_Comm_create_from_group(upper, "upper", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &some);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, some);
    if (sum != size * (size - 1) / 2) exit(3);
    MPI_Comm_free(&some);
    MPI_Group_free(&upper);
  }
  MPI_Barrier(all);
  MPI_Comm_free(&all);
  MPI_Group_free(&world);
  MPI_Session_finalize(&session);
  return 0;
}
