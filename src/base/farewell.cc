#include "base/farewell.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace fgmpi {
namespace {
int g_mark = -1;
void (*g_last_act)(int status) = nullptr;
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

void set_last_act(void (*tell)(int status)) { g_last_act = tell; }

void do_last_act(int status) {
  auto tell = g_last_act;
  g_last_act = nullptr;  // it may come to an end itself
  if (tell) tell(status);
}

}  // namespace fgmpi
