// Calls that wait in the kernel for descriptors, children or signals. They block the whole process,
// as they would without this library. But when another thread of the rank calls exit(), the rank
// that is in one of them ends.
//
//   rank: read() --InKernel--> the C library's read(), waits
//                                       ^
//                                       | signal
//   thread of the rank: exit_from_thread() --> interrupt()
//
//   The signal's handler parks the rank for ever, on the rank's own stack, so that other ranks run
//   and leave_for() goes on.
//
// The signal's handler acts only between the beginning and the end of a call that code outside of
// this library has made: there the rank holds nothing of this library (no lock, for instance).
//
// Thread rule: InKernel on any thread; interrupt() on threads other than the scheduler's.
#pragma once

#include "proclet-sched/sched.h"

namespace fgmpi::privatize {

/// Marks, while it lives, that the calling rank is in a call that waits in the kernel. Does nothing
/// on other threads, and for the only rank of a process. `caller`: an address of the code that has
/// made the call.
class InKernel {
 public:
  explicit InKernel(const void* caller);
  ~InKernel();
  InKernel(const InKernel&) = delete;
  InKernel& operator=(const InKernel&) = delete;

 private:
  bool marked_ = false;
  /// The rank's outer call of this kind, if a signal handler makes this one.
  sched::Proclet* before_ = nullptr;
};

/// Sends the signal if `rank` is in a call that waits in the kernel. The call may end before the
/// signal arrives: callers repeat this until the rank has left.
void interrupt(sched::Proclet* rank);

}  // namespace fgmpi::privatize
