#include "liveness/end_mark.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/end_hooks.h"

namespace fgmpi::liveness {
namespace {

int g_mark = -1;
pid_t g_owner = -1;  ///< a child that it has forked has the same descriptor, but not the same end

void set_mark() {
  const uint64_t one = 1;
  if (getpid() == g_owner) syscall(SYS_write, g_mark, &one, sizeof one);
}

}  // namespace

int end_mark_fd() {
  if (g_mark >= 0 && getpid() == g_owner) return g_mark;
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  // Out of the way of a program that expects low descriptor numbers.
  int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 512);
  if (high >= 0) close(fd);
  g_mark = high >= 0 ? high : fd;
  g_owner = getpid();
  if (g_mark >= 0) set_leave_end_mark(set_mark);
  return g_mark;
}

}  // namespace fgmpi::liveness
