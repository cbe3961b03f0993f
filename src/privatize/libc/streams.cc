// fclose(), freopen() and setvbuf() of standard streams that several ranks share: a rank may close
// them or redirect them to a file of its own; the streams of the other ranks stay as they are. A
// buffer that a rank gives to a stream is not used: it may lie on the rank's stack, which other
// ranks outlive.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "privatize/internal.h"
#include "privatize/libc/children.h"
#include "privatize/libc/descriptor_kinds.h"
#include "privatize/libc/output.h"
#include "privatize/libc/rank_descriptors.h"
#include "privatize/libc/rank_streams.h"

namespace fgmpi::privatize {
namespace {

using Reopen = FILE*(const char*, const char*, FILE*);

/// True for a standard stream in a process whose lines are assembled.
bool is_standard(const FILE* stream) {
  return g_stdout && (stream == stdout || stream == stderr || stream == stdin);
}

bool is_shared(const FILE* stream) { return on_scheduler_thread() && is_standard(stream); }

FILE* reopen(const char* path, const char* mode, FILE* stream, const char* name,
             const void* caller) {
  bool redirectable = is_shared(stream) && writes_of_ranks(stream) && on_proclet();
  if (!redirectable || !path) {
    auto* real = next_symbol<Reopen>(name);
    descriptor_is_closed(fileno(stream));
    forget_kind_of_descriptor(fileno(stream));
    const StreamMemory memory(stream);
    FILE* opened = real(path, mode, stream);
    if (!opened) forget_stream(stream);
    if (opened && rank_of_slot(opened) >= 0) take_buffer(opened, StreamKind::kDescriptor);
    return opened ? give_stream(opened, caller) : nullptr;
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

/// setvbuf() by a rank. An unbuffered stdout of ranks becomes line-buffered: without a buffer it
/// would write single characters, and lines are assembled in either case.
int choose_buffering(FILE* stream, char* buffer, int mode, size_t size) {
  static auto* real = next_symbol<int(FILE*, char*, int, size_t)>("setvbuf");
  const StreamMemory memory(stream);
  if (!is_standard(stream)) return real(stream, buffer, mode, size);
  if (mode != _IOFBF && mode != _IOLBF && mode != _IONBF) return errno = EINVAL, -1;
  if (stream == stderr) return 0;  // stays unbuffered, so that its text is the running rank's
  if (stream == stdout && mode == _IONBF) mode = _IOLBF;
  return real(stream, nullptr, mode, 0);
}

}  // namespace
}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE int fclose(FILE* stream) {
  static auto* real = next_symbol<int(FILE*)>("fclose");
  if (is_shared(stream)) return fflush(stream);
  int status;
  if (close_pipe_stream(stream, &status)) return status;
  descriptor_is_closed(fileno(stream));  // fclose() closes it without calling our close()
  forget_kind_of_descriptor(fileno(stream));
  const StreamMemory memory(stream);  // what open_memstream() gives the program
  forget_stream(stream);
  return real(stream);
}

FGMPI_INTERPOSE FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return reopen(path, mode, stream, "freopen", __builtin_return_address(0));
}

FGMPI_INTERPOSE FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return reopen(path, mode, stream, "freopen64", __builtin_return_address(0));
}

FGMPI_INTERPOSE int setvbuf(FILE* stream, char* buffer, int mode, size_t size) noexcept {
  return choose_buffering(stream, buffer, mode, size);
}

FGMPI_INTERPOSE void setbuffer(FILE* stream, char* buffer, size_t size) noexcept {
  choose_buffering(stream, buffer, buffer ? _IOFBF : _IONBF, size);
}

FGMPI_INTERPOSE void setbuf(FILE* stream, char* buffer) noexcept {
  setbuffer(stream, buffer, BUFSIZ);
}

FGMPI_INTERPOSE void setlinebuf(FILE* stream) noexcept {
  choose_buffering(stream, nullptr, _IOLBF, 0);
}
