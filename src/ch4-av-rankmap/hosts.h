// Which processes of the job share a host, as all of them have published it: the same at every
// process.
//
// Kept as runs of consecutive processes on one host: 8 bytes each, nothing for a job on one host
// but one of them. Thread rule: one thread. Nothing here switches. Set while the processes exchange
// addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fgmpi {

class Hosts {
 public:
  /// The next process (0, 1, ...) is on the host with this identity.
  void add(const std::string& identity);
  /// How many there are.
  uint32_t count() const { return static_cast<uint32_t>(hashes_.size()); }
  /// The number of a process's host, from 0. REQUIRES: it was added.
  uint32_t host_of(uint32_t process) const;
  /// How many hosts these processes are on.
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
  /// Another process of the job is on this one's host.
  bool is_shared(uint32_t process) const;

 private:
  struct Run {
    uint32_t first, host;
  };
  uint32_t processes_ = 0;
  std::vector<Run> runs_;
  std::vector<uint64_t> hashes_;  ///< of the identities, by host
};

/// Those of this job; empty for a job of one process.
extern Hosts g_hosts;

}  // namespace fgmpi
