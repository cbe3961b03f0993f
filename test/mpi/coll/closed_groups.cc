/* Multicast groups are given back: those of some processes when the last opened group of a
 * communicator is closed, also by members that come to its movements long after the root has closed
 * it; the communicator's when it is freed. Counted are the sockets of this process that are bound
 * to addresses of 239.0.0.0/8; without multicast there are none. */
#include "some_ranks.h"

namespace {

int joined() { return static_cast<int>(group_addresses().size()); }

/* Until so many are left in the process; MPI goes on meanwhile. */
void wait_for(int expected) {
  const double end = MPI_Wtime() + 20;
  while (joined() != expected && MPI_Wtime() < end) OK(MPIX_Usleep(1000));
  if (joined() != expected) fprintf(stderr, "%d groups, expected %d\n", joined(), expected);
  CHECK(joined() == expected);
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  const Places places;
  const int processes = places.processes;
  const bool by_multicast = places.by_multicast;
  for (int round = 0; round < 3; ++round) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    Scatterv s(comm, places);
    /* A member that is late: the root has closed the group before it comes to the first
     * movement. */
    const int late = round == 1 ? 1 % processes : round == 2 ? 0 : processes;
    s.call(MPIX_Scatterv_open_group);
    if (places.mine() == late) OK(MPIX_Usleep(100000));
    for (int k = 0; k < 3; ++k) s.move(round * 3 + k);
    if (round == 0 && by_multicast) {
      OK(MPI_Barrier(MPI_COMM_WORLD));
      wait_for(1 + (places.keeps && s.takes));
      OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    s.call(MPIX_Scatterv_close_group);
    wait_for(by_multicast);
    /* The same once more, with a group of its own. */
    s.call(MPIX_Scatterv_open_group);
    s.move(100);
    s.move(101);
    s.call(MPIX_Scatterv_close_group);
    wait_for(by_multicast);
    OK(MPI_Comm_free(&comm));
    wait_for(0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  return finish();
}
