// mpiexec -resize N PID: another mpiexec asks the one of a running job for another number of
// processes, over a socket that is named after its process id.
//
// Thread rule: one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/status.h"

namespace fgmpi::launcher {

/// The requests to this mpiexec. One is answered at a time.
class ResizeRequests {
 public:
  ResizeRequests() = default;
  ~ResizeRequests();
  ResizeRequests(const ResizeRequests&) = delete;
  ResizeRequests& operator=(const ResizeRequests&) = delete;

  /// Requests may come from now on.
  void listen();
  /// The number of processes that somebody asks for; 0: nobody does. Returns at once.
  int64_t take();
  /// Answers the request that take() has returned: "" it is done, else why not.
  void answer(const std::string& text);

 private:
  int listening_ = -1, asking_ = -1;
};

/// Asks the mpiexec with this process id, and waits for its answer. Errors: MPI_ERR_ARG.
Status ask_to_resize(int64_t processes, pid_t pid);

}  // namespace fgmpi::launcher
