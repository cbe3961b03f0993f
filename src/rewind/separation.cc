// Places in files of a fork become its own.

#include "rewind/separation.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "rewind/descriptors.h"
#include "rewind/ends.h"
#include "rewind/memory_files.h"
#include "rewind/trap.h"

namespace fgmpi::rewind {
namespace {

bool has_place(long fd) {
  const FileKind kind = kind_of(fd);
  return kind == FileKind::kInput || kind == FileKind::kMemory;
}

long checked(long result, const char* what) {
  if (result < 0) report_difference("%s: error %ld", what, -result);
  return result;
}

/// A place that no other file has by chance, and that all file systems allow: descriptors that have
/// it when one was set to it share it.
constexpr int64_t kMarkedPlace = 0x5eed0001;

/// Opens the file of the descriptor as another one, for it and for those that share
/// its place.
void separate_file(long fd, bool* is_done) {
  const long place = direct_call(SYS_lseek, fd, 0, SEEK_CUR);
  const long flags = direct_call(SYS_fcntl, fd, F_GETFL);
  if (place < 0 || flags < 0) return;
  const long fresh =
      checked(open_once_more(fd, flags | O_CLOEXEC), "a file cannot be opened once more");
  direct_call(SYS_lseek, fresh, place, SEEK_SET);
  checked(direct_call(SYS_lseek, fd, kMarkedPlace, SEEK_SET), "a file cannot be read further on");
  bool shares[kMostKnownFds] = {};
  for (long other = fd; other < kMostKnownFds; ++other)
    shares[other] = has_place(other) && !is_done[other] &&
                    direct_call(SYS_lseek, other, 0, SEEK_CUR) == kMarkedPlace;
  direct_call(SYS_lseek, fd, place, SEEK_SET);
  for (long other = fd; other < kMostKnownFds; ++other) {
    if (!shares[other]) continue;
    const bool closed_on_exec = direct_call(SYS_fcntl, other, F_GETFD) & FD_CLOEXEC;
    direct_call(SYS_dup3, fresh, other, closed_on_exec ? O_CLOEXEC : 0);
    is_done[other] = true;
  }
  direct_call(SYS_close, fresh);
}

}  // namespace

bool shares_with_forks() {
  for (long fd = 0; fd < kMostKnownFds; ++fd)
    if (has_place(fd)) return true;
  return false;
}

void separate_fork() {
  bool is_done[kMostKnownFds] = {};
  for (long fd = 0; fd < kMostKnownFds; ++fd)
    if (has_place(fd) && !is_done[fd]) separate_file(fd, is_done);
}

}  // namespace fgmpi::rewind
