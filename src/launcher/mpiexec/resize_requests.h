// mpiexec -resize N PID and -leave HOST PID: another mpiexec asks the one of a running job for
// another number of processes, or to leave a host, over a socket that is named after that one's
// process id.
//
// Thread rule: one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/status.h"

namespace fgmpi::launcher {

struct ResizeRequest {
  int64_t processes = 0;    ///< 0: as many as the other hosts have room for
  std::string leaves = {};  ///< the host that the job is to leave; "": none
  bool any() const { return processes != 0 || !leaves.empty(); }
};

/// The requests to this mpiexec. One is answered at a time.
class ResizeRequests {
 public:
  ResizeRequests() = default;
  ~ResizeRequests();
  ResizeRequests(const ResizeRequests&) = delete;
  ResizeRequests& operator=(const ResizeRequests&) = delete;

  /// Requests may come from now on.
  void listen();
  /// What somebody asks for, if anybody does. Returns at once.
  ResizeRequest take();
  /// Answers the request that take() has returned: "" it is done, else why not.
  void answer(const std::string& text);

 private:
  int listening_ = -1, asking_ = -1;
};

/// Asks the mpiexec with this process id, and waits for its answer. Errors: MPI_ERR_ARG.
Status ask_to_change(const ResizeRequest& request, pid_t pid);

}  // namespace fgmpi::launcher
