// Reads a small file by plain system calls.

#include "base/file_text.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/raw_call.h"

namespace fgmpi {

std::string text_of_file(const char* path) {
  std::string text;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char part[4096];
  for (;;) {
    // The system call itself: the function read() is interposed, and may let other ranks run.
    const long got = raw_call(SYS_read, fd, reinterpret_cast<long>(part), sizeof part);
    if (got == -EINTR) continue;
    if (got <= 0) break;
    text.append(part, static_cast<size_t>(got));
  }
  close(fd);
  return text;
}

std::string first_word_of_file(const char* path) {
  const std::string text = text_of_file(path);
  const size_t from = text.find_first_not_of(" \t\n");
  return from == text.npos ? "" : text.substr(from, text.find_first_of(" \t\n", from) - from);
}

}  // namespace fgmpi
