/* Two jobs that were started apart:  pair accept|connect FILE [TIMES]. The port's name passes
 * through FILE. Many times: each connection is used shortly, and neither descriptors nor memory
 * grow. */
#include <unistd.h>

#include "exercise.h"
#include "meeting.h"
#include "usage.h"

static void use_shortly(MPI_Comm inter, int side) {
  MPI_Comm merged;
  int one = 1, sum, size, remote;
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote));
  OK(MPI_Intercomm_merge(inter, side, &merged));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged));
  CHECK(sum == size + remote);
  OK(MPI_Comm_free(&merged));
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  CHECK(argc > 2);
  const int side = strcmp(argv[1], "connect") == 0;
  const int times = argc > 3 ? atoi(argv[3]) : 2;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  char port[MPI_MAX_PORT_NAME] = "";
  find_port(side == 0, argv[2], port);
  int fds = 0;
  long kib = 0;
  for (int k = 0; k < times; ++k) {
    MPI_Comm inter = meet(side == 0, port);
    if (times < 10)
      exercise(inter, side);
    else
      use_shortly(inter, side);
    if (times >= 10 && k == times / 10) {
      fds = open_descriptors();
      kib = resident_kib();
    }
    if (k + 1 < times || times % 2)
      OK(MPI_Comm_disconnect(&inter)); /* else the end of the job does it */
  }
  if (times >= 10) CHECK(open_descriptors() <= fds + 4 && resident_kib() < kib + 2000);
  if (rank == 0 && side == 0) OK(MPI_Close_port(port));
  return finish();
}
