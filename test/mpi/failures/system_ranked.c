/* The last process fails, a member of communicators whose ranks the system has picked. Nobody has
 * used these before, so no process has had to know where their members are. What needs the failed
 * one ends, as in any communicator; agreeing, shrinking and revoking work. Without arguments
 * nothing fails: revoking only. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"

enum { kMost = 1000 };
static int rank, size;

/* All members that are left learn that one of them has revoked `comm`. */
static void check_revoking(MPI_Comm comm) {
  int value;
  if (rank == 0) OK(MPIX_Comm_revoke(comm));
  REVOKED(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm, MPI_STATUS_IGNORE));
  REVOKED(MPI_Barrier(comm));
}

/* What is left of a communicator works; `left` of its members are. */
static void check_shrinking(MPI_Comm comm, int left) {
  MPI_Comm shrunk;
  int flag = 1, n, sum = 0, one = 1;
  MPIX_Comm_agree(comm, &flag); /* fails where a member has not acknowledged */
  CHECK(flag == 1);
  OK(MPIX_Comm_shrink(comm, &shrunk));
  OK(MPI_Comm_size(shrunk, &n));
  CHECK(n == left);
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, shrunk));
  CHECK(sum == left);
  OK(MPI_Comm_free(&shrunk));
}

static void survive(MPI_Comm all, MPI_Comm copy, int victim, int before, int left) {
  static char large[1 << 20];
  int value = 3, n;
  MPI_Request request;
  FAILS(MPI_Recv(&value, 1, MPI_INT, victim, 1, all, MPI_STATUS_IGNORE));
  FAILS(MPI_Ssend(&value, 1, MPI_INT, victim, 1, all));
  FAILS(MPI_Recv(&value, 1, MPI_INT, victim, 1, copy, MPI_STATUS_IGNORE));
  OK(MPI_Isend(large, sizeof large, MPI_CHAR, victim, 1, copy, &request));
  FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE));
  FAILS(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, all, MPI_STATUS_IGNORE));
  FAILS(MPI_Barrier(all));
  FAILS(MPI_Barrier(copy));
  OK(MPIX_Comm_failure_ack(all));
  MPI_Group failed;
  OK(MPIX_Comm_failure_get_acked(all, &failed));
  OK(MPI_Group_size(failed, &n));
  CHECK(n == size - left);
  OK(MPI_Group_free(&failed));
  /* Between those that are left messages go on, also for the first time between two. */
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, before, 2, &value, 1, MPI_INT, MPI_ANY_SOURCE, 2, all,
                  MPI_STATUS_IGNORE));
  CHECK(value == (rank + 1) % left);
  check_shrinking(all, left);
  check_shrinking(copy, left);
}

int main(int argc, char** argv) {
  static int ranks_in_all[kMost];
  int first_of_last, mine, ended = argc > 1;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(size <= kMost);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPIX_Get_collocated_startrank(&first_of_last));
  OK(MPI_Bcast(&first_of_last, 1, MPI_INT, size - 1, MPI_COMM_WORLD));
  MPI_Comm all, copy, part;
  OK(MPIX_Comm_split(MPI_COMM_WORLD, 0, MPIX_SYSTEM_RANKED, &all));
  OK(MPIX_Comm_split(all, rank % 2, MPIX_SYSTEM_RANKED, &part));
  OK(MPI_Comm_dup(all, &copy));
  OK(MPI_Comm_rank(all, &mine));
  OK(MPI_Allgather(&mine, 1, MPI_INT, ranks_in_all, 1, MPI_INT, MPI_COMM_WORLD));
  const int left = ended ? first_of_last : size;
  if (rank < left && ended) OK(MPI_Send(&mine, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD));
  if (ended && rank == size - 1) {
    for (int i = 0; i < left; ++i)
      OK(MPI_Recv(&mine, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    kill(getpid(), SIGKILL);
  }
  if (rank >= left) MPI_Recv(&mine, 1, MPI_INT, size - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (ended)
    survive(all, copy, ranks_in_all[size - 1], ranks_in_all[(rank + left - 1) % left], left);
  check_revoking(all);
  check_shrinking(all, left);
  check_shrinking(part, left / 2 + (rank % 2 == 0 && left % 2));
  OK(MPI_Comm_free(&part));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&all));
  if (!ended) return finish();
  if (rank == 0) printf("%d of %d ranks are left\n", left, size);
  MPI_Finalize();
  return 0;
}
