// The numbers of files in /dev/shm, and their contents.

#include "rewind/memory_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "rewind/ends.h"
#include "rewind/format.h"
#include "rewind/inputs.h"
#include "rewind/recording.h"
#include "rewind/trap.h"

namespace fgmpi::rewind {
namespace {

/// The file behind a descriptor that is kept, as long as it has a name.
struct NamedMemory {
  bool is_used;
  dev_t device;
  ino_t number;
};
NamedMemory g_files[kMostMemoryFiles];

constexpr int64_t kNone = -1;

long kept(int64_t file) { return kFirstMemoryFd + file; }

struct stat status_of(long fd) {
  struct stat s {};
  direct_call(SYS_fstat, fd, &s);
  return s;
}

int64_t find_file(const struct stat& s) {
  for (int64_t i = 0; i < kMostMemoryFiles; ++i)
    if (g_files[i].is_used && g_files[i].device == s.st_dev && g_files[i].number == s.st_ino)
      return i;
  return kNone;
}

/// A number that no file has whose name could be opened, and whose descriptor is no other file's.
int64_t find_free() {
  for (int64_t i = 0; i < kMostMemoryFiles; ++i) {
    const bool is_free = g_files[i].is_used ? status_of(kept(i)).st_nlink == 0
                                            : direct_call(SYS_fcntl, kept(i), F_GETFD) == -EBADF;
    if (is_free) return i;
  }
  return kNone;
}

/// Passes what the new file contains.
void pass_contents(long fd) {
  auto size = static_cast<int64_t>(is_recorded() ? status_of(fd).st_size : 0);
  pass(&size);
  if (size == 0) return;
  const long file = open_once_more(fd, is_recorded() ? O_RDONLY | O_CLOEXEC : O_RDWR | O_CLOEXEC);
  if (is_repeated()) direct_call(SYS_ftruncate, file, size);
  char part[4096];
  for (int64_t at = 0; at < size; at += static_cast<int64_t>(sizeof part)) {
    const auto n = static_cast<size_t>(std::min<int64_t>(sizeof part, size - at));
    std::memset(part, 0, n);
    if (is_recorded()) direct_call(SYS_pread64, file, part, n, at);
    pass_bytes(part, n);
    if (is_repeated()) direct_call(SYS_pwrite64, file, part, n, at);
  }
  direct_call(SYS_close, file);
}

long make_memory() {
  const long fd = direct_call(SYS_memfd_create, "fgmpi-rewind", MFD_CLOEXEC);
  if (fd < 0) report_difference("memory cannot be made: error %ld", -fd);
  return fd;
}

}  // namespace

bool is_memory_descriptor(long fd) {
  return fd >= kFirstMemoryFd && fd < kFirstMemoryFd + kMostMemoryFiles &&
         g_files[fd - kFirstMemoryFd].is_used;
}

bool keep_memory(int64_t file, long fd) {
  if (direct_call(SYS_dup3, fd, kept(file), O_CLOEXEC) >= 0) return true;
  // The program does not see that the limit, below which it must be, is higher meanwhile.
  rlimit limit{};
  if (direct_call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &limit) != 0) return false;
  const rlimit higher{limit.rlim_max, limit.rlim_max};
  direct_call(SYS_prlimit64, 0, RLIMIT_NOFILE, &higher, 0);
  const long done = direct_call(SYS_dup3, fd, kept(file), O_CLOEXEC);
  direct_call(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, 0);
  return done >= 0;
}

long open_once_more(long fd, long flags) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/self/fd/%ld", fd);
  return direct_call(SYS_openat, AT_FDCWD, path, flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW), 0);
}

bool is_named_memory(const char* path) {
  return std::strncmp(path, "/proc/", 6) != 0 && std::strncmp(path, "/dev/fd/", 8) != 0;
}

long pass_memory_file(long fd, long flags) {
  int64_t file = kNone, is_new = 0;
  if (is_recorded()) {
    const struct stat s = status_of(fd);
    file = find_file(s);
    is_new = file == kNone;
    if (is_new) file = find_free();
    if (file == kNone)
      refuse_run("it uses more than %d files in /dev/shm at a time", kMostMemoryFiles);
    if (is_new && !keep_memory(file, fd))
      refuse_run("it uses more files in /dev/shm than the limit of open files lets be kept");
    g_files[file] = {true, s.st_dev, s.st_ino};
  }
  pass(&file);
  pass(&is_new);
  if (is_repeated() && is_new) {
    const long made = make_memory();
    if (!keep_memory(file, made)) report_difference("the limit of open files is too low");
    direct_call(SYS_close, made);
    g_files[file].is_used = true;
  }
  if (is_new) pass_contents(kept(file));
  return is_recorded() ? fd : open_once_more(kept(file), flags);
}

}  // namespace fgmpi::rewind
