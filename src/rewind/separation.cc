// Files and shared memory of a fork become its own.

#include "rewind/separation.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "rewind/descriptors.h"
#include "rewind/ends.h"
#include "rewind/format.h"
#include "rewind/memory_files.h"
#include "rewind/trap.h"

namespace fgmpi::rewind {
namespace {

bool g_maps_shared = false;

bool has_shared_memory() {
  if (g_maps_shared) return true;
  for (int64_t file = 0; file < kMostMemoryFiles; ++file)
    if (is_memory_descriptor(kFirstMemoryFd + file)) return true;
  return false;
}

bool has_place(long fd) {
  const FileKind kind = kind_of(fd);
  return kind == FileKind::kInput || kind == FileKind::kMemory;
}

struct stat file_status(long fd) {
  struct stat s {};
  direct_call(SYS_fstat, fd, &s);
  return s;
}

long checked(long result, const char* what) {
  if (result < 0) report_difference("%s: error %ld", what, -result);
  return result;
}

// ---- Memory -------------------------------------------------------------------------------------

/// A file of memory, and its copy.
struct CopiedMemory {
  dev_t device;
  ino_t number;
  long copy;
  bool by_mappings;  ///< no descriptor leads to it: what is mapped of it is copied
};
constexpr size_t kMostCopied = 512;
CopiedMemory g_copied[kMostCopied];
size_t g_copied_count = 0;

struct SharedMapping {
  uintptr_t low, high;
  uint64_t offset;
  dev_t device;
  ino_t number;
  int protection;
};
constexpr size_t kMostMappings = 4096;
SharedMapping g_mappings[kMostMappings];
size_t g_mapping_count = 0;

constexpr size_t kPart = 64 << 10;
char g_part[kPart];

CopiedMemory* find_copied(dev_t device, ino_t number) {
  for (size_t i = 0; i < g_copied_count; ++i)
    if (g_copied[i].device == device && g_copied[i].number == number) return &g_copied[i];
  return nullptr;
}

CopiedMemory* add_copied(dev_t device, ino_t number) {
  if (g_copied_count == kMostCopied) report_difference("it has too much shared memory");
  const long copy = direct_call(SYS_memfd_create, "fgmpi-rewind", MFD_CLOEXEC);
  g_copied[g_copied_count] = {device, number, checked(copy, "memory cannot be made"), false};
  return &g_copied[g_copied_count++];
}

/// Copies the file behind a descriptor, unless it has been.
void copy_file(long fd) {
  const struct stat s = file_status(fd);
  if (find_copied(s.st_dev, s.st_ino)) return;
  const long copy = add_copied(s.st_dev, s.st_ino)->copy;
  const long from = checked(open_once_more(fd, O_RDONLY | O_CLOEXEC), "memory cannot be read");
  checked(direct_call(SYS_ftruncate, copy, s.st_size), "memory cannot be made");
  for (int64_t at = 0; at < s.st_size;) {
    const long n = direct_call(SYS_pread64, from, g_part, kPart, at);
    if (n <= 0) break;
    direct_call(SYS_pwrite64, copy, g_part, n, at);
    at += n;
  }
  direct_call(SYS_close, from);
}

/// Reads a number from the text at *at, and passes over the character behind it.
uint64_t read_number(const char** at, unsigned base) {
  uint64_t value = 0;
  for (;; ++*at) {
    const char c = **at;
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10
                                                  : base;
    if (digit >= base) break;
    value = value * base + digit;
  }
  if (**at) ++*at;
  return value;
}

/// Adds the mapping in a line of /proc/self/maps, where it is one of shared memory.
void add_mapping(const char* at, dev_t memory) {
  SharedMapping m{};
  m.low = read_number(&at, 16);
  m.high = read_number(&at, 16);
  if (at[3] != 's') return;
  m.protection = (at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) |
                 (at[2] == 'x' ? PROT_EXEC : 0);
  at += 5;
  m.offset = read_number(&at, 16);
  const auto major = static_cast<unsigned>(read_number(&at, 16));
  const auto minor = static_cast<unsigned>(read_number(&at, 16));
  m.device = makedev(major, minor);
  m.number = read_number(&at, 10);
  if (m.device != memory) return;
  if (g_mapping_count == kMostMappings) report_difference("it has too many shared mappings");
  g_mappings[g_mapping_count++] = m;
}

void find_mappings(dev_t memory) {
  g_mapping_count = 0;
  const long fd =
      checked(direct_call(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0),
              "/proc/self/maps");
  size_t have = 0;
  for (long n; (n = direct_call(SYS_read, fd, g_part + have, kPart - 1 - have)) > 0;) {
    have += static_cast<size_t>(n);
    g_part[have] = 0;
    char* line = g_part;
    for (char* end; (end = std::find(line, g_part + have, '\n')) != g_part + have; line = end + 1) {
      *end = 0;
      add_mapping(line, memory);
    }
    have -= static_cast<size_t>(line - g_part);
    std::copy_n(line, have, g_part);
  }
  direct_call(SYS_close, fd);
}

/// Memory to which no descriptor leads: what is mapped of it.
void copy_mapped(const SharedMapping& m) {
  CopiedMemory* copied = find_copied(m.device, m.number);
  if (copied && !copied->by_mappings) return;
  if (!copied) (copied = add_copied(m.device, m.number))->by_mappings = true;
  const uint64_t end = m.offset + (m.high - m.low);
  if (static_cast<uint64_t>(file_status(copied->copy).st_size) < end)
    checked(direct_call(SYS_ftruncate, copied->copy, end), "memory cannot be made");
  for (uint64_t at = m.low; at < m.high && (m.protection & PROT_READ);) {
    const long n =
        direct_call(SYS_pwrite64, copied->copy, at, m.high - at, m.offset + (at - m.low));
    if (n <= 0) break;  // behind the end of the file
    at += static_cast<uint64_t>(n);
  }
}

/// REQUIRES: memory may be shared.
void separate_memory() {
  const long own = checked(direct_call(SYS_memfd_create, "fgmpi-rewind", MFD_CLOEXEC), "memory");
  find_mappings(file_status(own).st_dev);
  direct_call(SYS_close, own);
  for (int64_t file = 0; file < kMostMemoryFiles; ++file)
    if (is_memory_descriptor(kFirstMemoryFd + file)) copy_file(kFirstMemoryFd + file);
  for (long fd = 0; fd < kMostKnownFds; ++fd)
    if (kind_of(fd) == FileKind::kMemory) {
      const struct stat s = file_status(fd);
      const bool is_mapped = std::any_of(
          g_mappings, g_mappings + g_mapping_count,
          [&](const SharedMapping& m) { return m.device == s.st_dev && m.number == s.st_ino; });
      if (is_mapped) copy_file(fd);
    }
  for (size_t i = 0; i < g_mapping_count; ++i) copy_mapped(g_mappings[i]);
  for (size_t i = 0; i < g_mapping_count; ++i) {
    const SharedMapping& m = g_mappings[i];
    const long at =
        direct_call(SYS_mmap, m.low, m.high - m.low, m.protection, MAP_SHARED | MAP_FIXED,
                    find_copied(m.device, m.number)->copy, m.offset);
    checked(at, "memory cannot be mapped");
  }
}

// ---- Files --------------------------------------------------------------------------------------

/// A place that no other file has by chance, and that all file systems allow: descriptors that have
/// it when one was set to it share it.
constexpr int64_t kMarkedPlace = 0x5eed0001;

/// Opens the file of the descriptor, or its copy, as another one, for it and for those that share
/// its place.
void separate_file(long fd, bool* is_done) {
  const long place = direct_call(SYS_lseek, fd, 0, SEEK_CUR);
  const long flags = direct_call(SYS_fcntl, fd, F_GETFL);
  if (place < 0 || flags < 0) return;
  const struct stat s = file_status(fd);
  const CopiedMemory* copied = find_copied(s.st_dev, s.st_ino);
  const long fresh = checked(open_once_more(copied ? copied->copy : fd, flags | O_CLOEXEC),
                             "a file cannot be opened once more");
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

void note_shared_mapping() { g_maps_shared = true; }

bool shares_with_forks() {
  for (long fd = 0; fd < kMostKnownFds; ++fd)
    if (has_place(fd)) return true;
  return has_shared_memory();
}

void separate_fork() {
  g_copied_count = 0;
  if (has_shared_memory()) separate_memory();
  bool is_done[kMostKnownFds] = {};
  for (long fd = 0; fd < kMostKnownFds; ++fd)
    if (has_place(fd) && !is_done[fd]) separate_file(fd, is_done);
  for (int64_t file = 0; file < kMostMemoryFiles; ++file) {
    const long kept = kFirstMemoryFd + file;
    if (!is_memory_descriptor(kept)) continue;
    const struct stat s = file_status(kept);
    if (const CopiedMemory* copied = find_copied(s.st_dev, s.st_ino))
      keep_memory(file, copied->copy);
  }
  for (size_t i = 0; i < g_copied_count; ++i) direct_call(SYS_close, g_copied[i].copy);
}

}  // namespace fgmpi::rewind
