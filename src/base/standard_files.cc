// Opens /dev/null on descriptors 0 to 2 that are closed.

#include "base/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace fgmpi {

void open_standard_files() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the lowest free number, which is this one: those below it are open.
    const int opened = open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    if (opened >= 0 && opened != fd) close(opened);
  }
}

}  // namespace fgmpi
