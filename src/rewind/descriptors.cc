// The search for the kind of a descriptor.

#include "rewind/descriptors.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <cstring>

#include "rewind/format.h"
#include "rewind/kept_files.h"
#include "rewind/recording.h"
#include "rewind/trap.h"

namespace fgmpi::rewind {

bool g_shows_output = true;

namespace {

struct FileNumber {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const FileNumber&) const = default;
};

constexpr size_t kMostWritten = 1024, kMostDevices = 8;
FileKind g_kinds[kMostKnownFds];
uint32_t g_kept_files[kMostKnownFds];
/// Files that the run has opened for writing: their data is recorded from then on.
FileNumber g_written[kMostWritten];
size_t g_written_count = 0;
dev_t g_memory_devices[kMostDevices];
size_t g_memory_device_count = 0;
/// Kinds of file systems whose files the kernel makes up when they are read.
constexpr unsigned long kMadeUp[] = {PROC_SUPER_MAGIC,    SYSFS_MAGIC,   CGROUP_SUPER_MAGIC,
                                     CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
                                     SECURITYFS_MAGIC};
FileNumber g_out, g_err;

bool status_of(long fd, struct stat* out) { return direct_call(SYS_fstat, fd, out) == 0; }
FileNumber number_of(const struct stat& s) { return {s.st_dev, s.st_ino}; }

bool is_written(const FileNumber& file) {
  if (g_written_count >= kMostWritten) return true;
  for (size_t i = 0; i < g_written_count; ++i)
    if (g_written[i] == file) return true;
  return false;
}

void forget_inputs() {
  for (FileKind& kind : g_kinds)
    if (kind == FileKind::kInput) kind = FileKind::kUnknown;
}

FileKind find_kind(long fd) {
  struct stat s;
  if (!status_of(fd, &s)) return FileKind::kGivenFile;
  const FileNumber number = number_of(s);
  if (fd == 2 && number == g_err) return FileKind::kShownErr;
  if (number == g_out) return FileKind::kShownOut;
  if (number == g_err) return FileKind::kShownErr;
  if (S_ISDIR(s.st_mode)) return FileKind::kFolder;
  if (!S_ISREG(s.st_mode)) return FileKind::kGivenFile;
  for (size_t i = 0; i < g_memory_device_count; ++i)
    if (s.st_dev == g_memory_devices[i]) return FileKind::kMemory;
  struct statfs system {};
  direct_call(SYS_fstatfs, fd, &system);
  for (const unsigned long made_up : kMadeUp)
    if (static_cast<unsigned long>(system.f_type) == made_up) return FileKind::kGivenFile;
  const long flags = direct_call(SYS_fcntl, fd, F_GETFL);
  const bool only_read = flags >= 0 && (flags & O_ACCMODE) == O_RDONLY;
  return only_read && !is_written(number) ? FileKind::kInput : FileKind::kGivenFile;
}

}  // namespace

void look_at_standard_files() {
  struct stat s;
  if (status_of(1, &s)) g_out = number_of(s);
  if (status_of(2, &s)) g_err = number_of(s);
  // What the process has inherited, such as standard input, it cannot open again. The descriptors
  // that are closed on exec are the library's own, which it opens each time: some are memory, from
  // which it maps images of the program (only files of memfd_create have seals).
  for (long fd = 0; fd < kRecordingFd; ++fd) {
    const long flags = direct_call(SYS_fcntl, fd, F_GETFD);
    if (flags == FD_CLOEXEC && direct_call(SYS_fcntl, fd, F_GET_SEALS) >= 0) add_memory_device(fd);
    if (is_recorded() && flags == 0 && find_kind(fd) == FileKind::kInput)
      set_kind(fd, FileKind::kGivenFile);
  }
}

FileKind kind_of(long fd) {
  if (fd < 0 || fd >= kMostKnownFds) return FileKind::kGivenFile;
  FileKind& kind = g_kinds[fd];
  // When the run is repeated, kinds come from the recording.
  if (kind == FileKind::kUnknown && is_recorded()) kind = find_kind(fd);
  return kind;
}

void set_kind(long fd, FileKind kind) {
  if (fd < 0 || fd >= kMostKnownFds) return;
  g_kinds[fd] = kind;
  g_kept_files[fd] = 0;
}

void copy_kind(long from, long to) {
  set_kind(to, kind_of(from));
  if (to >= 0 && to < kMostKnownFds) g_kept_files[to] = kept_file_of(from);
}

uint32_t kept_file_of(long fd) { return fd >= 0 && fd < kMostKnownFds ? g_kept_files[fd] : 0; }

void add_memory_device(long fd) {
  struct stat s;
  if (!status_of(fd, &s)) return;
  for (size_t i = 0; i < g_memory_device_count; ++i)
    if (g_memory_devices[i] == s.st_dev) return;
  if (g_memory_device_count < kMostDevices) g_memory_devices[g_memory_device_count++] = s.st_dev;
}

FileKind kind_of_opened(long fd, const char* path, long flags) {
  struct stat s;
  if (std::strncmp(path, "/dev/shm/", 9) == 0 && status_of(fd, &s) && S_ISREG(s.st_mode)) {
    add_memory_device(fd);
    set_kind(fd, FileKind::kMemory);
    return FileKind::kMemory;
  }
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (writes && status_of(fd, &s) && S_ISREG(s.st_mode) && !is_written(number_of(s))) {
    g_written[g_written_count++] = number_of(s);
    forget_inputs();
  }
  set_kind(fd, FileKind::kUnknown);
  if (kind_of(fd) == FileKind::kInput && header().keeps_inputs) {
    const uint32_t file = add_kept_file(fd);
    if (file)
      g_kept_files[fd] = file;
    else
      set_kind(fd, FileKind::kGivenFile);
  }
  return kind_of(fd);
}

}  // namespace fgmpi::rewind
