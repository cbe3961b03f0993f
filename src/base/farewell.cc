#include "base/farewell.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace fgmpi {
namespace {
int g_mark = -1;
}  // namespace

int farewell_fd() {
  if (g_mark >= 0) return g_mark;
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  // Out of the way of a program that expects low descriptor numbers.
  int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 512);
  if (high >= 0) close(fd);
  g_mark = high >= 0 ? high : fd;
  return g_mark;
}

void say_farewell() {
  const uint64_t one = 1;
  if (g_mark >= 0) syscall(SYS_write, g_mark, &one, sizeof one);
}

}  // namespace fgmpi
