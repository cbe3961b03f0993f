// The hosts of hydra's proxies: which host a connection of mpiexec.hydra belongs to, and which
// hosts are lost.
//
// A host counts as lost when the connection to its proxy ends before hydra has closed it: a proxy
// that ends by itself first reports the statuses of its processes, whereupon hydra closes the
// connection. Processes of other hosts may find out earlier, and end the job, and so hydra.
//
// The names of hosts are those by which hydra calls the programs that start proxies. The processes
// that become these programs record them in a file without a name, which they share with
// mpiexec.hydra:
//
//   1 node7            the proxy 1 runs on node7
//   -1 node1,node2     one command starts all proxies (srun): the proxy 0 runs on node1
//
// Thread rule: one thread, hydra's. This code is part of a library that is loaded into hydra, and
// uses only the C library.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fgmpi::launcher {

class ProxyHosts {
 public:
  /// `folder`: of the job's checkpoints, where lost hosts are recorded.
  explicit ProxyHosts(std::string folder);
  /// Called in a process that is about to become the program that starts a proxy.
  void record_launch(char* const* argv) const;
  /// Called for a connection over which a proxy will send its greeting.
  void expect_greeting(int fd) { newcomers_.insert(fd); }
  /// Called when hydra has read from a descriptor. `got`: what read() has returned; errno is set,
  /// and stays.
  void record_read(int fd, const void* bytes, ssize_t got);
  /// Called when hydra closes a descriptor. Behind the last message of a proxy, the statuses of its
  /// processes, it may be recorded that a signal has ended one (kReportedPrefix): where none has
  /// ended with a bad exit status, for which proxies would have killed the others.
  void record_close(int fd);
  /// The processes have reported that the host of one of them cannot be reached.
  void record_unreachable(int process) const;
  /// Appends a line to the file kLostHosts of the folder, once for each connection: the proxy's
  /// number, and its host's name where that is known. Does nothing for another descriptor.
  void record_loss(int fd);

 private:
  void record(const std::string& line) const;
  std::string name_of(uint64_t proxy) const;
  std::string folder_;
  int launches_;                     ///< the file; -1: there is none
  std::set<int> newcomers_;          ///< descriptors
  std::map<int, uint64_t> proxies_;  ///< by descriptor
  /// What hydra has read last from each: at the end, the statuses of the proxy's processes.
  std::map<int, std::vector<int>> last_read_;
  bool any_exited_badly_ = false;
  int killed_by_ = 0;  ///< a signal that has ended a process; 0: none has
};

}  // namespace fgmpi::launcher
