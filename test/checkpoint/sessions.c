/* Sessions go on as they were, with what was made from them: groups and communicators. */
#include "checkpoint.h"

static int handled;
static MPI_Session handled_session;
static void handle(MPI_Session* session, int* code, ...) {
  (void)code;
  handled_session = *session;
  ++handled;
}

int main(int argc, char** argv) {
  MPI_Session session, later;
  MPI_Errhandler handler, found;
  MPI_Info info;
  MPI_Group world, odd, later_group;
  MPI_Comm comm, ring;
  char text[200];
  int flag, n, sum = -1, got = -1, late = -1;
  MPI_Request request;
  start(&argc, &argv);
  MPI_Session_create_errhandler(handle, &handler);
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
  MPI_Session_init(info, handler, &session);
  MPI_Info_free(&info);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &later);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  MPI_Group_from_session_pset(later, "mpi://SELF", &later_group);
  const int ranks[2] = {size - 1, 0};
  MPI_Group_incl(world, size > 1 ? 2 : 1, ranks, &odd);
  MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Comm_dup(comm, &ring);
  MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 1, ring, &request);

  checkpoint();

  MPI_Session_get_errhandler(session, &found);
  CHECK(found == handler);
  MPI_Errhandler_free(&found);
  MPI_Errhandler_free(&handler);
  MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
  CHECK(handled == 1 && handled_session == session);
  MPI_Session_get_info(session, &info);
  MPI_Info_get(info, "thread_level", 199, text, &flag);
  CHECK(flag && strcmp(text, "MPI_THREAD_SERIALIZED") == 0); /* the most that the layer allows */
  MPI_Info_free(&info);
  MPI_Session_get_num_psets(later, MPI_INFO_NULL, &n);
  CHECK(n >= 2);
  MPI_Group_rank(odd, &n);
  CHECK(n == (rank == size - 1 ? 0 : rank == 0 ? 1 : MPI_UNDEFINED));
  MPI_Group_size(later_group, &n);
  CHECK(n == 1);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == size * (size - 1) / 2);
  MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 1, ring);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(got == (rank + size - 1) % size);
  if (rank == 0 || rank == size - 1) { /* a group of before makes a communicator */
    MPI_Comm two;
    MPI_Comm_create_from_group(odd, "two", MPI_INFO_NULL, MPI_ERRORS_RETURN, &two);
    MPI_Allreduce(&rank, &late, 1, MPI_INT, MPI_MAX, two);
    CHECK(late == size - 1);
    MPI_Comm_free(&two);
  }
  MPI_Comm_free(&ring);
  MPI_Comm_free(&comm);
  MPI_Group_free(&odd);
  MPI_Group_free(&world);
  MPI_Group_free(&later_group);
  MPI_Session_finalize(&later);
  CHECK(later == MPI_SESSION_NULL);
  MPI_Session_finalize(&session);
  return finish();
}
