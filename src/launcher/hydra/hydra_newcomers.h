// Who may connect to the port of mpiexec.hydra: only its proxies.
//
// Hydra waits without limit for the greeting of a proxy from every connection, and in version 4.0
// ends the job where the number in it is none of its proxies'. So any stray connection (a port
// scan; a process that searches for another one whose port was this one before) ends or stops a
// job. This class shows a connection to hydra only once a greeting has arrived, of a proxy that has
// not connected yet. All other connections are closed. The greetings, of integers of 4 bytes in the
// host's order:
//
//   number                       hydra 4.0
//   "HYD\0"  number              versions between
//   "HYD\0"  group  number       4.2.1 and 5.0.2: a group of processes counts its proxies from 0
//
// Thread rule: one thread, hydra's. This code is part of a library that is loaded into hydra, and
// uses only the C library.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace fgmpi::launcher {

/// The bytes of the longest greeting.
inline constexpr size_t kLongestGreeting = 12;
/// The proxy that a greeting comes from, as a number of its own; nothing where the bytes are no
/// greeting.
std::optional<uint64_t> find_greeter(const char* bytes, size_t count);

class Newcomers {
 public:
  /// Calls poll() by `real`. A listening descriptor counts as readable only when a proxy has
  /// connected to it.
  int poll(int (*real)(pollfd*, nfds_t, int), pollfd* fds, nfds_t count, int timeout);
  /// A proxy of this host sends its greeting over a pair of sockets. pair() adds the pair;
  /// record_read() removes the end `fd`, over which the greeting has come.
  void pair(const int ends[2]) { pairs_.insert(pairs_.end(), ends, ends + 2); }
  void record_read(int fd, const char* bytes, size_t count);
  /// Returns the next proxy that has connected to a listening descriptor; -1: the caller calls
  /// accept().
  int next_proxy(int listener);

 private:
  struct Newcomer {
    int listener, fd;
    bool is_proxy;
    int least;  ///< bytes that make the socket readable
  };
  void accept_newcomers(int listener);
  void check_newcomer(Newcomer* newcomer);
  std::vector<Newcomer> newcomers_;
  std::vector<int> pairs_;         ///< ends over which no greeting has come
  std::vector<uint64_t> proxies_;  ///< those that have connected
};

}  // namespace fgmpi::launcher
