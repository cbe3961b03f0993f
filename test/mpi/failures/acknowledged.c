/* The last two processes fail, one after the other: MPIX_Comm_get_failed, MPIX_Comm_ack_failed,
 * MPIX_Comm_iagree and MPIX_Comm_ishrink. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "errors.h"

static int rank, size;

/* The ranks in MPI_COMM_WORLD of the members that are known to have failed. */
static int list_failed(int* ranks) {
  MPI_Group failed, world;
  int n, numbers[1000];
  OK(MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed));
  OK(MPI_Group_size(failed, &n));
  CHECK(n <= 1000);
  for (int i = 0; i < n; ++i) numbers[i] = i;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_translate_ranks(failed, n, numbers, world, ranks));
  OK(MPI_Group_free(&world));
  if (failed != MPI_GROUP_EMPTY) OK(MPI_Group_free(&failed));
  return n;
}

/* Waits until so many failures are known. */
static void wait_for(int count, int* ranks) {
  while (list_failed(ranks) < count) OK(MPIX_Usleep(1000));
  CHECK(list_failed(ranks) == count);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int each, ranks[1000], acked, flag, value;
  MPIX_Get_collocated_size(&each);
  const int left = size - 2 * each;
  CHECK(list_failed(ranks) == 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank >= left + each) { /* the last process goes first */
    if (rank == left + each) {
      usleep(100000);
      kill(getpid(), SIGKILL);
    }
    for (;;) MPIX_Usleep(100000);
  }
  wait_for(each, ranks);
  for (int i = 0; i < each; ++i) CHECK(ranks[i] == left + each + i);
  /* Nothing is acknowledged yet. */
  MPI_Request any, agreement;
  OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &any));
  CHECK(class_of(MPI_Wait(&any, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED_PENDING);
  OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 0, &acked));
  CHECK(acked == 0);
  flag = 5;
  OK(MPIX_Comm_iagree(MPI_COMM_WORLD, &flag, &agreement));
  CHECK(class_of(MPI_Wait(&agreement, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED && flag == 5);
  /* One of a process stands for all of it. */
  OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, &acked));
  CHECK(acked == each);
  int done;
  OK(MPI_Test(&any, &done, MPI_STATUS_IGNORE));
  CHECK(!done);
  flag = rank == 0 ? 6 : 3;
  OK(MPIX_Comm_iagree(MPI_COMM_WORLD, &flag, &agreement));
  OK(MPI_Wait(&agreement, MPI_STATUS_IGNORE));
  CHECK(flag == 2);

  if (rank >= left) { /* the process before it goes when rank 0 has come as far */
    if (rank == left) {
      OK(MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      kill(getpid(), SIGKILL);
    }
    for (;;) MPIX_Usleep(100000);
  }
  if (rank == 0) OK(MPI_Send(&rank, 1, MPI_INT, left, 9, MPI_COMM_WORLD));
  wait_for(2 * each, ranks);
  /* The new ones stand behind the old ones, and are not acknowledged. */
  for (int i = 0; i < each; ++i) {
    CHECK(ranks[i] == left + each + i);
    CHECK(ranks[each + i] == left + i);
  }
  OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, each, &acked));
  CHECK(acked == each);
  CHECK(class_of(MPI_Wait(&any, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED_PENDING);
  MPI_Comm shrunk;
  MPI_Request shrink;
  OK(MPIX_Comm_ishrink(MPI_COMM_WORLD, &shrunk, &shrink));
  OK(MPI_Wait(&shrink, MPI_STATUS_IGNORE));
  int n, sum, one = 1;
  OK(MPI_Comm_size(shrunk, &n));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, shrunk));
  CHECK(n == left && sum == left);
  OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1000, &acked));
  CHECK(acked == 2 * each);
  OK(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % left, 3, MPI_COMM_WORLD));
  OK(MPI_Wait(&any, MPI_STATUS_IGNORE));
  CHECK(value == (rank + left - 1) % left);
  OK(MPI_Barrier(shrunk));
  OK(MPI_Comm_free(&shrunk));
  if (rank == 0) printf("rank 0 has seen all\n");
  MPI_Finalize();
  return 0;
}
