// fclose() and freopen() of standard streams that several ranks share: a rank may close them or redirect them to a file
// of its own; the streams of the other ranks stay as they are.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "privatize/internal.h"
#include "privatize/output.h"

namespace fgmpi::privatize {
namespace {

using Reopen = FILE*(const char*, const char*, FILE*);

/// True for a standard stream in a process with several ranks.
bool is_shared(const FILE* stream) {
  return g_stdout && on_scheduler_thread() &&
         (stream == stdout || stream == stderr || stream == stdin);
}

FILE* reopen(const char* path, const char* mode, FILE* stream, const char* name) {
  bool redirectable = is_shared(stream) && writes_of_ranks(stream) && on_proclet();
  if (!redirectable || !path) {
    auto* real = next_symbol<Reopen>(name);
    return real(path, mode, stream);
  }
  FILE* file = fopen(path, mode);
  if (!file) return nullptr;
  int fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int failed = errno;
  next_symbol<int(FILE*)>("fclose")(file);
  if (fd < 0) return errno = failed, nullptr;
  send_to_file(stream, fd);
  return stream;
}

}  // namespace
}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE int fclose(FILE* stream) {
  static auto* real = next_symbol<int(FILE*)>("fclose");
  return is_shared(stream) ? fflush(stream) : real(stream);
}

FGMPI_INTERPOSE FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return reopen(path, mode, stream, "freopen");
}

FGMPI_INTERPOSE FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return reopen(path, mode, stream, "freopen64");
}
