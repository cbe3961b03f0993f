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

int g_mark = -1;
/// The process that made the mark: a forked child has the same descriptor, but an end of its own.
pid_t g_owner = -1;

void set_mark() {
  const uint64_t one = 1;
  if (getpid() == g_owner) syscall(SYS_write, g_mark, &one, sizeof one);
}

}  // namespace

int end_mark_fd() {
  if (g_mark >= 0 && getpid() == g_owner) return g_mark;
  g_mark = move_descriptor_up(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  g_owner = getpid();
  if (g_mark >= 0) set_leave_end_mark(set_mark);
  return g_mark;
}

}  // namespace fgmpi::liveness
