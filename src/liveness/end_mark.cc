// The eventfd that marks a process that has ended in order.

#include "liveness/end_mark.h"

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/descriptor.h"
#include "base/end_hooks.h"

namespace fgmpi::liveness {
namespace {

struct EndMark {
  int fd = -1;
  /// The process that made the mark: a forked child has the same descriptor, but an end of its own.
  pid_t owner = -1;
};
constinit EndMark g_mark;

void set_mark() {
  const uint64_t one = 1;
  if (getpid() == g_mark.owner) syscall(SYS_write, g_mark.fd, &one, sizeof one);
}

}  // namespace

int end_mark_fd() {
  if (g_mark.fd >= 0 && getpid() == g_mark.owner) return g_mark.fd;
  g_mark.fd = move_descriptor_up(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  g_mark.owner = getpid();
  if (g_mark.fd >= 0) set_leave_end_mark(set_mark);
  return g_mark.fd;
}

}  // namespace fgmpi::liveness
