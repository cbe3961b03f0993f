// Who connects to the port of mpiexec.hydra: only its proxies get through to it.
//
// Hydra reads the number of a proxy, 4 bytes, from whoever connects, waits for them as long as it
// takes, and ends the job where they are none of its proxies' numbers. So any stray connection (a
// port scan; a process that looks for another one whose port was this one's before) ends or stops a
// job. Here a connection is shown to hydra when its first 4 bytes have come and are the number of a
// proxy that has not connected yet; others are closed.
//
// Thread rule: one thread, hydra's. Runs in a library that is loaded into it: nothing but the C
// library is needed.
#pragma once

#include <poll.h>

#include <vector>

namespace fgmpi::launcher {

class Newcomers {
 public:
  /// poll() by `real`, in which a listening descriptor is readable only when a proxy has connected
  /// to it.
  int poll(int (*real)(pollfd*, nfds_t, int), pollfd* fds, nfds_t count, int timeout);
  /// A proxy of this host says its number over a pair of sockets: one of `ends`; and has said it
  /// over `fd`.
  void pair(const int ends[2]) { pairs_.insert(pairs_.end(), ends, ends + 2); }
  void said(int fd, int number);
  /// The next proxy that has connected to a listening descriptor; -1: accept() has to be called.
  int take(int listener);

 private:
  struct Newcomer {
    int listener, fd;
    bool is_proxy;
  };
  void take_in(int listener);
  void hear(Newcomer* newcomer);
  std::vector<Newcomer> newcomers_;
  std::vector<int> pairs_;    ///< ends over which nobody has said a number
  std::vector<int> proxies_;  ///< that have connected
};

}  // namespace fgmpi::launcher
