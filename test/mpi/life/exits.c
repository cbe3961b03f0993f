/* argv[1]: how the rank argv[2] ends (-1: each of them); the others end normally. Used by
 * life.sh. */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "mpitest.h"

int main(int argc, char** argv) {
  int rank, size;
  if (argc < 3) return 99;
  int special = atoi(argv[2]);
  if (!strcmp(argv[1], "noinit")) return 0;
  if (!strcmp(argv[1], "abort-first")) MPI_Abort(MPI_COMM_WORLD, 10);
  if (!strcmp(argv[1], "never")) { /* ranks of process 1 end at once, all others wait for them */
    const char* process = getenv("PMI_RANK");
    if (process && !strcmp(process, "1")) exit(special);
  }
  if (!strcmp(
          argv[1],
          "some")) { /* which ranks skip MPI is as good as random: by the place of their globals */
    static int place;
    if ((((uintptr_t)&place >> 12) * 2654435761u >> 24) % 3 == 0) return 0;
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Barrier(MPI_COMM_SELF));
    OK(MPI_Finalize());
    return 0;
  }
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  MPI_Comm parent;
  OK(MPI_Comm_get_parent(&parent));
  CHECK(parent == MPI_COMM_NULL);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == special || special == -1) {
    int out = 0;
    if (!strcmp(argv[1], "hangup")) { /* the status of a proxy that has forgotten one is 1, too */
      signal(SIGHUP, SIG_DFL);
      kill(getpid(), SIGHUP);
    }
    if (!strcmp(argv[1], "return") || !strcmp(argv[1], "exit")) {
      OK(MPI_Finalize());
      if (!strcmp(argv[1], "return")) return 7;
      exit(8);
    }
    if (!strcmp(argv[1], "late")) {
      OK(MPI_Finalize());
      MPI_Barrier(MPI_COMM_WORLD);
    }
    if (!strcmp(argv[1], "forget")) exit(9);
    if (!strcmp(argv[1], "abort")) MPI_Abort(MPI_COMM_WORLD, 10);
    if (!strcmp(argv[1], "badrank")) MPI_Send(&rank, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
    if (!strcmp(argv[1], "badtag")) MPI_Send(&rank, 1, MPI_INT, 0, -7, MPI_COMM_WORLD);
    if (!strcmp(argv[1], "nullcomm")) MPI_Comm_size(MPI_COMM_NULL, &out);
    if (!strcmp(argv[1], "deadlock"))
      MPI_Recv(&out, 1, MPI_INT, rank, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(argv[1], "twice")) MPI_Init(&argc, &argv);
    if (!strcmp(argv[1], "crash")) abort();
  }
  if (!strcmp(argv[1], "leak")) {
    MPI_Comm kept;
    MPI_Request never;
    int into;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank == special ? 1 : MPI_UNDEFINED, 0, &kept));
    if (rank == special) OK(MPI_Irecv(&into, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &never));
  }
  if (!strcmp(argv[1], "hang")) {
    for (;;) MPI_Barrier(MPI_COMM_WORLD);
  }
  OK(MPI_Finalize());
  return 0;
}
