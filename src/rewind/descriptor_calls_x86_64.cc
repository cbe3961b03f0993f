// Opening, duplicating and closing descriptors.

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>

#include <cstdio>

#include "rewind/descriptors.h"
#include "rewind/ends.h"
#include "rewind/format.h"
#include "rewind/inputs.h"
#include "rewind/memory_files.h"
#include "rewind/recording.h"
#include "rewind/special_calls.h"

namespace fgmpi::rewind {
namespace {

/// Opens a file whose contents were kept: the file as mpiexec has found it to be, or what it has
/// made of the kept contents.
long open_kept(int64_t file, long flags) {
  char name[24];
  std::snprintf(name, sizeof name, "%lld", static_cast<long long>(file));
  return direct_call(SYS_openat, kInputsFd, name, flags & ~(O_CREAT | O_NOFOLLOW), 0);
}

/// Opens, when the run is repeated, what the recorded run had opened as `fd`. `kept`: the number of
/// its kept file, or 0. `own`: what has been opened in its place, or -1.
void open_again(const TrappedCall& call, FileKind kind, const char* path, long fd, int64_t kept,
                long own, long flags) {
  const bool again =
      kind == FileKind::kInput || kind == FileKind::kMemory || kind == FileKind::kFolder;
  if (own < 0) own = kept ? open_kept(kept, flags) : again ? make_call(call) : -1;
  if (own < 0 && kind == FileKind::kInput)
    report_difference("%s cannot be opened: error %ld", path, -own);
  if (own < 0) return stand_in(fd);
  if (own == fd) return;
  direct_call(SYS_dup3, own, fd, flags & O_CLOEXEC);
  direct_call(SYS_close, own);
}

long open_file(const TrappedCall& call) {
  const bool at = call.number == SYS_openat;
  const auto* path = reinterpret_cast<const char*>(call.arguments[at ? 1 : 0]);
  const long flags =
      call.number == SYS_creat ? O_CREAT | O_WRONLY | O_TRUNC : call.arguments[at ? 2 : 1];
  int64_t fd = is_recorded() ? make_call(call) : 0, kind = 0, kept = 0;
  if (is_recorded() && fd >= 0) kind = static_cast<int64_t>(kind_of_opened(fd, path, flags));
  begin_call_input(call);
  pass(&fd);
  pass(&kind);
  if (header().keeps_inputs) {
    kept = is_recorded() ? kept_file_of(fd) : 0;
    pass(&kept);
  }
  if (fd >= 0) {
    long own = -1;
    if (static_cast<FileKind>(kind) == FileKind::kMemory && is_named_memory(path))
      own = pass_memory_file(fd, flags);
    if (is_repeated()) {
      open_again(call, static_cast<FileKind>(kind), path, fd, kept, own, flags);
      set_kind(fd, static_cast<FileKind>(kind));
    }
    struct stat s {};
    if (static_cast<FileKind>(kind) == FileKind::kInput) {
      direct_call(SYS_fstat, fd, &s);
      auto size = static_cast<int64_t>(s.st_size);
      pass(&size);
      if (size != s.st_size)
        report_difference("%s has %lld bytes, %lld in the recorded run", path,
                          static_cast<long long>(s.st_size), static_cast<long long>(size));
    }
  }
  end_input();
  return fd;
}

/// pipe, pipe2, socketpair: two descriptors.
long make_pair(const TrappedCall& call) {
  auto* fds = reinterpret_cast<int*>(call.arguments[call.number == SYS_socketpair ? 3 : 0]);
  const int64_t result = begin_with_result(call);
  if (result == 0) pass_bytes(fds, 2 * sizeof *fds);
  end_input();
  for (int i = 0; result == 0 && i < 2; ++i) {
    if (is_repeated()) stand_in(fds[i]);
    set_kind(fds[i], FileKind::kUnknown);
  }
  return result;
}

/// Another working folder: of the repeated run too, where there is one of this name.
long change_folder(const TrappedCall& call) {
  const int64_t result = begin_with_result(call);
  end_input();
  if (is_repeated()) make_call(call);
  return result;
}

long make_memory(const TrappedCall& call) {
  const long fd = make_call(call);
  if (fd < 0) return fd;
  add_memory_device(fd);
  set_kind(fd, FileKind::kMemory);
  return fd;
}

/// Is it a descriptor of this layer's own? For the program there is none: which of them are open
/// depends on what is wanted of the repeated run.
bool is_kept(long fd) {
  return (fd >= kRecordingFd && fd <= kInputsFd) || is_memory_descriptor(fd);
}

long close_one(const TrappedCall& call) {
  if (is_kept(call.arguments[0])) return -EBADF;
  set_kind(call.arguments[0], FileKind::kUnknown);
  return make_call(call);
}

long close_many(const TrappedCall& call) {
  const auto first = static_cast<unsigned>(call.arguments[0]),
             last = static_cast<unsigned>(call.arguments[1]);
  constexpr long kMarks = 4;  // CLOSE_RANGE_CLOEXEC
  if (!(call.arguments[2] & kMarks))
    for (unsigned fd = first; fd <= last && fd < 1024; ++fd) set_kind(fd, FileKind::kUnknown);
  long result = 0;
  unsigned from = first;
  for (unsigned fd = kRecordingFd; fd < kFirstMemoryFd + kMostMemoryFiles && result == 0; ++fd) {
    if (fd < first || fd > last || !is_kept(fd)) continue;
    if (from < fd) result = direct_call(SYS_close_range, from, fd - 1, call.arguments[2]);
    from = fd + 1;
  }
  if (result == 0 && (from <= last || first > last))
    result = direct_call(SYS_close_range, from, last, call.arguments[2]);
  return result;
}

long duplicate(const TrappedCall& call) {
  if (is_kept(call.arguments[0]) || (call.number != SYS_dup && is_kept(call.arguments[1])))
    return -EBADF;
  const long fd = make_call(call);
  copy_kind(call.arguments[0], fd);
  return fd;
}

long control_file(const TrappedCall& call) {
  if (is_kept(call.arguments[0])) return -EBADF;
  const long command = call.arguments[1];
  const bool duplicates = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
  if (duplicates) {
    const long result = make_call(call);
    copy_kind(call.arguments[0], result);
    return result;
  }
  FileKind kind;
  const int64_t result = begin_with_result(call, &kind);
  if ((command == F_GETLK || command == F_OFD_GETLK) && result >= 0)
    pass_bytes(reinterpret_cast<void*>(call.arguments[2]), sizeof(struct flock));
  end_input();
  if (is_repeated() && (kind == FileKind::kMemory || command == F_SETFD)) make_call(call);
  return result;
}

/// The bytes that an ioctl() writes.
size_t written_by(unsigned long request) {
  switch (request) {
    case TCGETS:
      return 36;
    case TIOCGWINSZ:
      return 8;
    case FIONREAD:
    case TIOCGPGRP:
      return 4;
    default:
      return _IOC_DIR(request) & _IOC_READ ? _IOC_SIZE(request) : 0;
  }
}

long control_device(const TrappedCall& call) {
  const int64_t result = begin_with_result(call);
  const size_t size = written_by(static_cast<unsigned long>(call.arguments[1]));
  if (result >= 0 && size > 0) pass_bytes(reinterpret_cast<void*>(call.arguments[2]), size);
  end_input();
  return result;
}

}  // namespace

long answer_descriptor_call(const TrappedCall& call) {
  switch (call.number) {
    case SYS_open:
    case SYS_openat:
    case SYS_creat:
      return open_file(call);
    case SYS_pipe:
    case SYS_pipe2:
    case SYS_socketpair:
      return make_pair(call);
    case SYS_chdir:
    case SYS_fchdir:
      return change_folder(call);
    case SYS_memfd_create:
      return make_memory(call);
    case SYS_close:
      return close_one(call);
    case SYS_close_range:
      return close_many(call);
    case SYS_dup:
    case SYS_dup2:
    case SYS_dup3:
      return duplicate(call);
    case SYS_fcntl:
      return control_file(call);
    case SYS_ioctl:
      return control_device(call);
    default:
      refuse_call(call);
  }
}

}  // namespace fgmpi::rewind
