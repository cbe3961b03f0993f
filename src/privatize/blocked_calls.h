// Calls that wait in the kernel for descriptors, children or signals. They block the whole process,
// as they would without this library; but when another thread of the rank calls exit(), the rank
// that is in one of them ends.
//
//   rank:   read() --InKernel--> the C library's read(), waits        <-- signal --    exit_from_thread(): interrupt()
//                                on the rank's own stack: parks for ever, so that others run and leave_for() goes on
//
// The signal's handler acts only between the beginning and the end of such a call that code outside
// of this library has made, where the rank holds nothing of ours.
//
// Thread rule: InKernel on any thread; interrupt() on threads other than the scheduler's.
#pragma once

#include "proclet-sched/sched.h"

namespace fgmpi::privatize {

/// The calling rank is in a call that waits in the kernel; nothing on other threads, and for the
/// only rank of a process. `caller`: an address of the code that has called.
class InKernel {
 public:
  explicit InKernel(const void* caller);
  ~InKernel();
  InKernel(const InKernel&) = delete;
  InKernel& operator=(const InKernel&) = delete;

 private:
  bool marked_ = false;
  sched::Proclet* before_ = nullptr;  ///< a handler of a signal called during another such call
};

/// An address in this library's code or data.
bool in_this_library(const void* address);

/// Sends the signal if `rank` is in such a call. It may have come to its end meanwhile: call again
/// until the rank has left.
void interrupt(sched::Proclet* rank);

}  // namespace fgmpi::privatize
