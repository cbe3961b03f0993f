/* Multicast groups are given back: those of some processes when the last opened group of a communicator is closed, also by
 * members that come to its movements long after the root has closed it; the communicator's when it is freed. Counted are the
 * sockets of this process that are bound to addresses of 239.0.0.0/8; without multicast there are none. */
#include <arpa/inet.h>
#include <fgmpi.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "mpitest.h"

namespace {

int g_rank, g_size;

/* Group addresses that this process has joined. */
int joined() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in name{};
    socklen_t length = sizeof name;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) == 0 &&
        name.sin_family == AF_INET && ntohl(name.sin_addr.s_addr) >> 24 == 239)
      ++count;
  }
  return count;
}

/* Until so many are left in the process; MPI goes on meanwhile. */
void wait_for(int expected) {
  const double end = MPI_Wtime() + 20;
  while (joined() != expected && MPI_Wtime() < end) OK(MPIX_Usleep(1000));
  if (joined() != expected)
    fprintf(stderr, "rank %d: %d groups, expected %d\n", g_rank, joined(), expected);
  CHECK(joined() == expected);
}

/* Each movement gives kCount ints to the ranks of the first half of the processes and none to the others. */
struct Scatterv {
  static constexpr int kCount = 9000;
  MPI_Comm comm;
  std::vector<int> counts, displs, all, mine;
  bool takes;

  Scatterv(MPI_Comm c, const std::vector<int>& process, int processes) : comm(c) {
    for (int r = 0, at = 0; r < g_size; ++r) {
      const bool some = 2 * process[static_cast<size_t>(r)] < processes;
      counts.push_back(some ? kCount : 0);
      displs.push_back(at);
      at += counts.back();
    }
    takes = counts[static_cast<size_t>(g_rank)] > 0;
    all.resize(static_cast<size_t>(g_size) * kCount);
    mine.resize(kCount);
  }
  template <class F>
  void call(F* function) {
    OK(function(all.data(), counts.data(), displs.data(), MPI_INT, mine.data(), takes ? kCount : 0,
                MPI_INT, 0, comm));
  }
  void move(int round) {
    for (size_t i = 0; g_rank == 0 && i < all.size(); ++i) all[i] = static_cast<int>(i) * 3 + round;
    call(MPIX_Scatterv_data_movement);
    for (int i = 0; takes && i < kCount; ++i)
      CHECK(mine[static_cast<size_t>(i)] == (displs[static_cast<size_t>(g_rank)] + i) * 3 + round);
  }
};

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &g_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &g_size));
  int processes, collocated;
  OK(MPIX_Get_n_size(&processes));
  OK(MPIX_Get_collocated_startrank(&collocated));
  std::vector<int> process(static_cast<size_t>(g_size));
  const char* forced = getenv("FGMPI_COLL_SCATTER");
  const char* scheme = getenv("FGMPI_MULTICAST_GROUPS");
  const bool by_multicast = forced && strcmp(forced, "multicast") == 0 && processes > 1;
  const bool keeps = by_multicast && (!scheme || strcmp(scheme, "opened") == 0);
  OK(MPI_Allgather(&collocated, 1, MPI_INT, process.data(), 1, MPI_INT, MPI_COMM_WORLD));
  const int each = g_size / processes;
  for (int& p : process) p /= each;
  for (int round = 0; round < 3; ++round) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    Scatterv s(comm, process, processes);
    /* A member that is late: the root has closed the group before it comes to the first movement. */
    const int late = round == 1 ? 1 % processes : round == 2 ? 0 : processes;
    s.call(MPIX_Scatterv_open_group);
    if (process[static_cast<size_t>(g_rank)] == late) OK(MPIX_Usleep(100000));
    for (int k = 0; k < 3; ++k) s.move(round * 3 + k);
    if (round == 0 && by_multicast) {
      OK(MPI_Barrier(MPI_COMM_WORLD));
      wait_for(1 + (keeps && s.takes));
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
