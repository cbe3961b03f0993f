// The statuses of processes that a proxy of hydra forgets.
//
// At its end a proxy sends mpiexec.hydra a number for each of its processes. A proxy that reads the
// end of a process's connection after waitpid() has returned the status stores 1 instead, and after
// the loss of another process sometimes 0.
//
// Thread rule: one thread, the proxy's. This code is part of a library that is loaded into the
// proxy, and uses only the C library.
#pragma once

#include <cstddef>
#include <vector>

namespace fgmpi::launcher {

class ProxyStatuses {
 public:
  /// Called when waitpid() has returned a status to the proxy.
  void add(int status) {
    ++ended_;
    if (status != 0) bad_.push_back(status);
  }
  /// The proxy's message with the true statuses; empty where the bytes are another message.
  std::vector<int> mended(const void* bytes, size_t count) const;

 private:
  std::vector<int> bad_;  ///< those other than 0
  size_t ended_ = 0;
};

}  // namespace fgmpi::launcher
