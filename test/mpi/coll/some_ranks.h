/* Scatters to some ranks only, whose multicast groups tests look at from outside: by the sockets of
 * their own process. */
#ifndef FGMPI_TEST_SOME_RANKS_H
#define FGMPI_TEST_SOME_RANKS_H

#include <arpa/inet.h>
#include <fgmpi.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "mpitest.h"

/* The addresses of 239.0.0.0/8 that sockets of this process are bound to. */
inline std::vector<sockaddr_in> group_addresses() {
  std::vector<sockaddr_in> out;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in name{};
    socklen_t length = sizeof name;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) == 0 &&
        name.sin_family == AF_INET && ntohl(name.sin_addr.s_addr) >> 24 == 239)
      out.push_back(name);
  }
  return out;
}

/* Processes, and where the ranks are. */
struct Places {
  int rank, size, processes;
  std::vector<int> process; /* of each rank */
  bool by_multicast;        /* scatters go by multicast */
  bool keeps;               /* opened groups keep theirs */
  Places() {
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    int collocated;
    OK(MPIX_Get_n_size(&processes));
    OK(MPIX_Get_collocated_startrank(&collocated));
    process.resize(static_cast<size_t>(size));
    OK(MPI_Allgather(&collocated, 1, MPI_INT, process.data(), 1, MPI_INT, MPI_COMM_WORLD));
    for (int& p : process) p /= size / processes;
    const char* forced = getenv("FGMPI_COLL_SCATTER");
    const char* scheme = getenv("FGMPI_MULTICAST_GROUPS");
    by_multicast = forced && strcmp(forced, "multicast") == 0 && processes > 1;
    keeps = by_multicast && (!scheme || strcmp(scheme, "opened") == 0);
  }
  int mine() const { return process[static_cast<size_t>(rank)]; }
};

/* Each movement gives kCount ints to the ranks of the first half of the processes and none to the
 * others. */
struct Scatterv {
  static constexpr int kCount = 9000;
  MPI_Comm comm;
  std::vector<int> counts, displs, all, mine;
  bool takes;

  int rank;

  Scatterv(MPI_Comm c, const Places& places) : comm(c), rank(places.rank) {
    for (int r = 0, at = 0; r < places.size; ++r) {
      const bool some = 2 * places.process[static_cast<size_t>(r)] < places.processes;
      counts.push_back(some ? kCount : 0);
      displs.push_back(at);
      at += counts.back();
    }
    takes = counts[static_cast<size_t>(rank)] > 0;
    if (rank == 0) all.resize(static_cast<size_t>(places.size) * kCount);
    mine.resize(kCount);
  }
  template <class F>
  void call(F* function) {
    OK(function(all.data(), counts.data(), displs.data(), MPI_INT, mine.data(), takes ? kCount : 0,
                MPI_INT, 0, comm));
  }
  void fill(int round) {
    for (size_t i = 0; rank == 0 && i < all.size(); ++i) all[i] = static_cast<int>(i) * 3 + round;
  }
  void check(int round) {
    for (int i = 0; takes && i < kCount; ++i)
      CHECK(mine[static_cast<size_t>(i)] == (displs[static_cast<size_t>(rank)] + i) * 3 + round);
  }
  void move(int round) {
    fill(round);
    call(MPIX_Scatterv_data_movement);
    check(round);
  }
};

#endif
