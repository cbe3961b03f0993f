/* Two jobs that connect, talk and disconnect, again and again, until somebody is killed:  killed
 * accept|connect|last FILE. `last` connects once, and tells the job that accepts to end. */
#include <string.h>

#include "meeting.h"

static void talk(MPI_Comm inter, int accepts) {
  enum { kLong = 30000 };
  static int out[kLong], in[kLong];
  int rank, size, remote, one = 1, sum;
  MPI_Comm merged;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote));
  OK(MPI_Intercomm_merge(inter, accepts, &merged));
  for (int k = 0; k < 20; ++k) {
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged));
    CHECK(sum == size + remote);
    if (rank >= remote) continue;
    OK(MPI_Sendrecv(out, kLong, MPI_INT, rank, 1, in, rank < remote && rank < size ? kLong : 0,
                    MPI_INT, rank, 1, inter, MPI_STATUS_IGNORE));
  }
  OK(MPI_Comm_free(&merged));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc > 2);
  const int accepts = strcmp(argv[1], "accept") == 0;
  char port[MPI_MAX_PORT_NAME] = "";
  int rank, last = strcmp(argv[1], "last") == 0;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  find_port(accepts, argv[2], port);
  do {
    MPI_Comm inter = meet(accepts, port);
    OK(MPI_Bcast(&last, 1, MPI_INT, accepts ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter));
    if (!last) talk(inter, accepts);
    OK(MPI_Comm_disconnect(&inter));
  } while (!last);
  return finish();
}
