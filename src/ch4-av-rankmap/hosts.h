// Hosts: which processes of the job share a host. Each process publishes its host's identity, so
// all processes have the same table.
//
// The table consists of runs of consecutive processes on one host, 8 bytes each: a job on one host
// has one run. Thread rule: one thread. Nothing here switches. The table is filled while the
// processes exchange addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fgmpi {

class Hosts {
 public:
  /// Adds the next process (0, 1, ...), which is on the host with this identity.
  void add(const std::string& identity);
  /// Number of hosts.
  uint32_t count() const { return static_cast<uint32_t>(hashes_.size()); }
  /// The number of a process's host, from 0. REQUIRES: it was added.
  uint32_t host_of(uint32_t process) const;
  /// Number of different hosts of these processes.
  template <class Processes>
  uint32_t count_of(const Processes& processes, uint32_t n) const {
    if (count() < 2) return count();
    std::vector<bool> seen(count());
    uint32_t hosts = 0;
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t host = host_of(processes(i));
      hosts += !seen[host];
      seen[host] = true;
    }
    return hosts;
  }
  /// True where another process of the job is on this one's host.
  bool is_shared(uint32_t process) const;

 private:
  struct HostRun {
    uint32_t first, host;
  };
  uint32_t processes_ = 0;
  std::vector<HostRun> runs_;
  std::vector<uint64_t> hashes_;  ///< hashes of the identities, by host
};

/// The hosts of this job; empty for a job of one process.
extern Hosts g_hosts;

}  // namespace fgmpi
