/* Ranks that call MPI_Init late: all have a session; the last rank is behind MPI_Init and in a
 * collective call on MPI_COMM_WORLD before any other one calls MPI_Init. */
#include "mpitest.h"

int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Group world;
  MPI_Comm all;
  MPI_Request request;
  int rank, size, i, sum = 0, one = 1, word = 0;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
  OK(MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &all));
  OK(MPI_Comm_rank(all, &rank));
  OK(MPI_Comm_size(all, &size));
  if (rank != size - 1) OK(MPI_Recv(&word, 1, MPI_INT, size - 1, 0, all, MPI_STATUS_IGNORE));
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
  if (rank == size - 1) {
    for (i = 0; i < size - 1; ++i) OK(MPI_Send(&word, 1, MPI_INT, i, 0, all));
  }
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(sum == size);
  OK(MPI_Comm_free(&all));
  OK(MPI_Group_free(&world));
  OK(MPI_Session_finalize(&session));
  finish();
  return 0;
}
