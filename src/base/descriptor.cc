// Moves a file descriptor of the library above the low numbers that programs expect for themselves.

#include "base/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace fgmpi {

int move_descriptor_up(int fd) {
  const int why = errno;
  const int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, kFirstOwnDescriptor);
  if (moved >= 0) close(fd);
  errno = why;
  return moved >= 0 ? moved : fd;
}

}  // namespace fgmpi
