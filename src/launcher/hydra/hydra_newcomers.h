// Who may connect to the port of mpiexec.hydra: only its proxies.
//
// Hydra waits without limit for the number of a proxy, 4 bytes, from every connection, and ends the
// job where the number is none of its proxies'. So any stray connection (a port scan; a process
// that searches for another one whose port was this one before) ends or stops a job. This class
// shows a connection to hydra only once its first 4 bytes have arrived and are the number of a
// proxy that has not connected yet. All other connections are closed.
//
// Thread rule: one thread, hydra's. This code is part of a library that is loaded into hydra, and
// uses only the C library.
#pragma once

#include <poll.h>

#include <vector>

namespace fgmpi::launcher {

class Newcomers {
 public:
  /// Calls poll() by `real`. A listening descriptor counts as readable only when a proxy has
  /// connected to it.
  int poll(int (*real)(pollfd*, nfds_t, int), pollfd* fds, nfds_t count, int timeout);
  /// A proxy of this host sends its number over a pair of sockets. pair() adds the pair;
  /// record_proxy_number() removes the end `fd`, over which the number has come.
  void pair(const int ends[2]) { pairs_.insert(pairs_.end(), ends, ends + 2); }
  void record_proxy_number(int fd, int number);
  /// Returns the next proxy that has connected to a listening descriptor; -1: the caller calls
  /// accept().
  int next_proxy(int listener);

 private:
  struct Newcomer {
    int listener, fd;
    bool is_proxy;
  };
  void accept_newcomers(int listener);
  void check_newcomer(Newcomer* newcomer);
  std::vector<Newcomer> newcomers_;
  std::vector<int> pairs_;    ///< ends over which no number has come
  std::vector<int> proxies_;  ///< numbers of the proxies that have connected
};

}  // namespace fgmpi::launcher
