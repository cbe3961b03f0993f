/* The last process fails: by SIGKILL, or as its last rank exits with status 1. The ranks that are
   left go through every call that has to say so, and through those that must go on. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"

static int rank, size;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int last = size - 1;
  int first_of_mine, first_victim;
  MPIX_Get_collocated_startrank(&first_of_mine);
  first_victim = first_of_mine;
  OK(MPI_Bcast(&first_victim, 1, MPI_INT, last, MPI_COMM_WORLD));
  MPI_Comm half;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank >= first_victim, rank, &half));
  const int left = first_victim, next = (rank + 1) % left, before = (rank + left - 1) % left;

  /* What the last rank has sent whole is received although it has failed. */
  int value = -1, small = 7;
  if (rank == last)
    for (int r = 0; r < left; ++r) OK(MPI_Send(&small, 1, MPI_INT, r, 1, MPI_COMM_WORLD));
  MPI_Request named = MPI_REQUEST_NULL, any = MPI_REQUEST_NULL;
  int from_named = 0, from_any = 0;
  if (rank < left) {
    OK(MPI_Irecv(&from_named, 1, MPI_INT, last, 2, MPI_COMM_WORLD, &named));
    OK(MPI_Irecv(&from_any, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &any));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == last) {
    usleep(100000); /* all others are through the barrier */
    if (argc > 1 && !strcmp(argv[1], "exit")) exit(1);
    kill(getpid(), SIGKILL);
  }
  if (rank >= left) {
    MPI_Recv(&value, 1, MPI_INT, last, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
  }

  FAILS(MPI_Recv(&value, 1, MPI_INT, last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Recv(&value, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(value == 7);
  FAILS(MPI_Wait(&named, MPI_STATUS_IGNORE));
  CHECK(named == MPI_REQUEST_NULL);
  /* A receive from any source may still be matched: it stays. */
  for (int i = 0; i < 2; ++i) {
    CHECK(class_of(MPI_Wait(&any, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED_PENDING);
    CHECK(any != MPI_REQUEST_NULL);
  }
  int flag = 0;
  CHECK(class_of(MPI_Test(&any, &flag, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED_PENDING);
  FAILS(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  FAILS(MPI_Probe(last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  FAILS(MPI_Iprobe(last, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  FAILS(MPI_Sendrecv(&small, 1, MPI_INT, next, 8, &value, 1, MPI_INT, last, 8, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));

  /* Agreement fails everywhere or nowhere, with the same flag; not all have acknowledged yet. */
  flag = rank == 0 ? 6 : 3;
  FAILS(MPIX_Comm_agree(MPI_COMM_WORLD, &flag));
  CHECK(flag == (left > 1 ? 2 : 6));

  MPI_Group failed, world;
  int n, in_world = -1, zero = 0;
  OK(MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &failed));
  MPI_Group_size(failed, &n);
  CHECK(n == 0);
  MPI_Group_free(&failed);
  OK(MPIX_Comm_failure_ack(MPI_COMM_WORLD));
  OK(MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &failed));
  MPI_Group_size(failed, &n);
  CHECK(n == size - left);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(failed, 1, &zero, world, &in_world);
  CHECK(in_world == first_victim);
  MPI_Group_free(&failed);
  MPI_Group_free(&world);
  flag = 1;
  OK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag));
  CHECK(flag == 1);

  /* Between the ranks that are left messages go on, now from any source as well. */
  small = 100 + rank;
  OK(MPI_Send(&small, 1, MPI_INT, next, 3, MPI_COMM_WORLD));
  MPI_Status status;
  OK(MPI_Wait(&any, &status));
  CHECK(from_any == 100 + before && status.MPI_SOURCE == before && any == MPI_REQUEST_NULL);

  /* To the failed rank: what needs it fails. */
  const int large = 1 << 22;
  char* data = calloc(large, 1);
  MPI_Request request;
  FAILS(MPI_Ssend(&small, 1, MPI_INT, last, 5, MPI_COMM_WORLD));
  FAILS(MPI_Send(data, large, MPI_CHAR, last, 5, MPI_COMM_WORLD));
  OK(MPI_Isend(data, large, MPI_CHAR, last, 5, MPI_COMM_WORLD, &request));
  FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Irecv(data, large, MPI_CHAR, last, 5, MPI_COMM_WORLD, &request));
  FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE));

  /* Collectives of the broken communicator fail, those of others do not. */
  MPI_Comm made = MPI_COMM_NULL;
  FAILS(MPI_Barrier(MPI_COMM_WORLD));
  FAILS(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
  FAILS(MPI_Gather(&value, 1, MPI_INT, rank == 0 ? (void*)data : NULL, 1, MPI_INT, 0,
                   MPI_COMM_WORLD));
  FAILS(MPI_Allreduce(MPI_IN_PLACE, data, 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  FAILS(MPI_Comm_dup(MPI_COMM_WORLD, &made));
  FAILS(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &made));
  CHECK(made == MPI_COMM_NULL);
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
  FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE));
  int sum = 0;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half));
  CHECK(sum == left * (left - 1) / 2);

  /* Shrinking leaves the others out; what comes of it is as regular as the world was. */
  MPI_Comm shrunk, second;
  OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk));
  int new_rank, new_size;
  MPI_Comm_rank(shrunk, &new_rank);
  MPI_Comm_size(shrunk, &new_size);
  CHECK(new_rank == rank && new_size == left);
  MPIX_Map_info map;
  OK(MPIX_Comm_map_info(shrunk, &map));
  CHECK(map.map_bytes <= 64);
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, shrunk));
  CHECK(sum == left * (left - 1) / 2);
  OK(MPI_Comm_dup(shrunk, &second));
  OK(MPI_Comm_free(&second));
  OK(MPIX_Comm_shrink(shrunk, &second));
  MPI_Comm_compare(shrunk, second, &n);
  CHECK(n == MPI_CONGRUENT);
  OK(MPI_Comm_free(&second));

  /* Revoking reaches those that wait. */
  MPI_Comm_set_errhandler(shrunk, MPI_ERRORS_RETURN);
  if (rank == 0) {
    usleep(10000);
    OK(MPIX_Comm_revoke(shrunk));
  }
  if (rank % 2)
    REVOKED(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 9, shrunk, MPI_STATUS_IGNORE));
  else
    REVOKED(MPI_Barrier(shrunk));
  REVOKED(MPI_Send(&value, 1, MPI_INT, next, 9, shrunk));
  REVOKED(MPI_Comm_dup(shrunk, &made));
  flag = 1;
  OK(MPIX_Comm_agree(shrunk, &flag));
  OK(MPIX_Comm_shrink(shrunk, &second));
  OK(MPI_Barrier(second));
  OK(MPI_Comm_free(&second));
  OK(MPI_Comm_free(&shrunk));
  OK(MPI_Comm_free(&half));
  free(data);
  if (rank == 0) printf("%d of %d ranks are left\n", left, size);
  MPI_Finalize();
  return 0;
}
