// The table of kinds by descriptor, and the interposed calls that close one.

#include "privatize/libc/descriptor_kinds.h"
#include "privatize/libc/rank_descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/raw_call.h"
#include "privatize/internal.h"
#include "privatize/libc/waits.h"

namespace fgmpi::privatize {
namespace detail {

std::atomic<uint8_t> g_descriptor_kinds[kKnownDescriptors];

namespace {
/// The kind of a file that lies in no folder. Some of those (epoll, pidfd) are neither read nor
/// written: they never wait.
DescriptorKind kind_of_anonymous(int fd) {
  char path[64], name[64] = {};
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(path, name, sizeof name - 1);
  const std::string_view text(name, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  if (text == "anon_inode:[eventfd]") return DescriptorKind::kDevice;
  for (const char* events : {"timerfd", "signalfd", "inotify", "fanotify", "userfaultfd"})
    if (text.find(events) != text.npos) return DescriptorKind::kEvents;
  return DescriptorKind::kNeverWaits;
}
}  // namespace

DescriptorKind query_descriptor_kind(int fd) {
  constexpr unsigned kMemoryDevices = 1;  // /dev/null, zero, full, random
  const int saved_errno = errno;
  struct stat file;
  if (fstat(fd, &file) != 0) {
    errno = saved_errno;
    return DescriptorKind::kNeverWaits;  // the program's call itself reports the error
  }
  DescriptorKind kind = DescriptorKind::kNeverWaits;
  if (S_ISFIFO(file.st_mode))
    kind = DescriptorKind::kPipe;
  else if (S_ISSOCK(file.st_mode))
    kind = DescriptorKind::kSocket;
  else if (S_ISCHR(file.st_mode) && major(file.st_rdev) != kMemoryDevices)
    kind = DescriptorKind::kDevice;
  else if ((file.st_mode & S_IFMT) == 0)
    kind = kind_of_anonymous(fd);
  errno = saved_errno;
  if (fd < kKnownDescriptors)
    g_descriptor_kinds[fd].store(static_cast<uint8_t>(kind), std::memory_order_relaxed);
  return kind;
}

}  // namespace detail

bool waits_when_not_ready(int fd, int access) {
  const long flags = raw_call(SYS_fcntl, fd, F_GETFL);
  const long mode = flags & O_ACCMODE;
  return flags >= 0 && !(flags & (O_NONBLOCK | O_PATH)) && (mode == access || mode == O_RDWR);
}

namespace {
void forget_kinds(unsigned first, unsigned last) {
  last = std::min<unsigned>(last, detail::kKnownDescriptors - 1);
  for (unsigned fd = first; fd <= last; ++fd) forget_kind_of_descriptor(static_cast<int>(fd));
}
}  // namespace

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

#define FGMPI_CALLER __builtin_return_address(0)

FGMPI_INTERPOSE int close(int fd) {
  static constinit Real<int(int)> real("close");
  forget_kind_of_descriptor(fd);
  descriptor_is_closed(fd);
  return real(fd);
}

FGMPI_INTERPOSE int close_range(unsigned first, unsigned last, int flags) noexcept {
  static constinit Real<int(unsigned, unsigned, int)> real("close_range");
  forget_kinds(first, last);
  return real(first, last, flags);
}

FGMPI_INTERPOSE void closefrom(int first) noexcept {
  static constinit Real<void(int)> real("closefrom");
  forget_kinds(static_cast<unsigned>(std::max(first, 0)), ~0u);
  real(first);
}

FGMPI_INTERPOSE int dup2(int from, int to) noexcept {
  static constinit Real<int(int, int)> real("dup2");
  const int result = real(from, to);
  forget_kind_of_descriptor(to);
  return name_descriptor(result, FGMPI_CALLER);
}

FGMPI_INTERPOSE int dup3(int from, int to, int flags) noexcept {
  static constinit Real<int(int, int, int)> real("dup3");
  const int result = real(from, to, flags);
  forget_kind_of_descriptor(to);
  return name_descriptor(result, FGMPI_CALLER);
}
