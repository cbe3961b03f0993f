// Mappings of files of saved ranks.
#include "privatize/load/file_mappings.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/kernel_mappings.h"
#include "base/raw_call.h"
#include "privatize/internal.h"
#include "privatize/load/rank_heaps.h"

namespace fgmpi::privatize {
namespace {

/// What a file is, as a mapping needs it.
struct FileIdentity {
  uint64_t inode;
  int64_t bytes, changed_s, changed_ns;
  bool operator==(const FileIdentity&) const = default;
};
FileIdentity identity_of(const struct stat& file) {
  return {file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
}

/// Calls see(mapping) for each of the kernel's mappings that is one of the rank's others, in
/// ascending order, until it returns false.
template <class See>
void visit_other_mappings(uint32_t index, See&& see) {
  heap::MemoryRange other;
  if (!find_other_mapping(index, nullptr, &other)) return;
  KernelMappings mappings;
  KernelMapping mapping;
  bool any = mappings.next(&mapping);
  do {
    const auto low = reinterpret_cast<uintptr_t>(other.low),
               high = reinterpret_cast<uintptr_t>(other.high);
    while (any && mapping.high <= low) any = mappings.next(&mapping);
    while (any && mapping.low < high) {
      KernelMapping part = mapping;
      part.low = std::max(mapping.low, low);
      part.high = std::min(mapping.high, high);
      part.offset += part.low - mapping.low;
      if (!see(part)) return;
      if (mapping.high > high) break;
      any = mappings.next(&mapping);
    }
  } while (find_other_mapping(index, other.high, &other));
}

bool is_in_slot(uint32_t index, uintptr_t low, uintptr_t high) {
  const heap::SlotPlaces& places = slot_places();
  const auto slot = reinterpret_cast<uintptr_t>(slot_of_rank(index));
  return places.file < 0 && low >= slot + places.heap && high > low && high <= slot + places.stride;
}

bool is_writable_file(const KernelMapping& mapping) {
  return mapping.shared && (mapping.protection & PROT_WRITE);
}

/// nullptr, or why the mapping cannot be carried, in words that follow "it".
const char* reason_against(uint32_t index, const KernelMapping& mapping) {
  static char words[512];
  if (*mapping.path != '/') {
    snprintf(words, sizeof words,
             "it has mapped memory at %p, which is shared or not in its own range of addresses "
             "(mmap)",
             reinterpret_cast<const void*>(mapping.low));
    return words;
  }
  const std::string_view path = mapping.path;
  struct stat file;
  const char* against = nullptr;
  if (path.starts_with("/dev/") || path.ends_with(" (deleted)"))
    against = "";
  else if (stat(mapping.path, &file) != 0 || file.st_ino != mapping.inode)
    against = ": another file has its name now";
  else if (!S_ISREG(file.st_mode))
    against = "";
  else if (!is_in_slot(index, mapping.low, mapping.high))
    against = ": outside of its own range of addresses";
  if (!against) return nullptr;
  snprintf(words, sizeof words, "it has mapped %s (mmap)%s", mapping.path, against);
  return words;
}

/// Errors: MPI_ERR_IO: the file is not one that the mapping can go on with.
Status check_file(const std::string& path, const struct stat& file, const FileIdentity& before,
                  const KernelMapping& mapping) {
  if (!S_ISREG(file.st_mode))
    return error(MPI_ERR_IO, "%s, which a rank has mapped, is no regular file", path.c_str());
  if (mapping.shared && file.st_size < before.bytes)
    return error(
        MPI_ERR_IO,
        "%s, which a rank has mapped, has %lld bytes; it had %lld when the ranks were saved",
        path.c_str(), static_cast<long long>(file.st_size), static_cast<long long>(before.bytes));
  const bool same = mapping.shared ? is_writable_file(mapping) || file.st_ino == before.inode
                                   : identity_of(file) == before;
  if (!same)
    return error(
        MPI_ERR_IO,
        "%s, of which a rank has mapped what it held, has changed since the ranks were saved "
        "(inode %llu, now %llu; %lld bytes, now %lld; changed at %lld, now %lld)",
        path.c_str(), static_cast<unsigned long long>(before.inode),
        static_cast<unsigned long long>(file.st_ino), static_cast<long long>(before.bytes),
        static_cast<long long>(file.st_size), static_cast<long long>(before.changed_s),
        static_cast<long long>(file.st_mtim.tv_sec));
  return {};
}

Status map_file(uint32_t index, const std::string& path, const KernelMapping& mapping,
                const FileIdentity& before) {
  const auto open_as = [&](int flags) {
    return raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path.c_str()), flags | O_CLOEXEC);
  };
  // A shared mapping that is only readable now may be made writable by its program.
  const bool writes = is_writable_file(mapping);
  long fd = open_as(mapping.shared ? O_RDWR : O_RDONLY);
  if (fd < 0 && !writes) fd = open_as(O_RDONLY);
  if (fd < 0)
    return error(MPI_ERR_IO, "%s, which a rank has mapped: %s", path.c_str(),
                 strerror(static_cast<int>(-fd)));
  struct stat file {};
  fstat(static_cast<int>(fd), &file);
  Status good = check_file(path, file, before, mapping);
  if (good.ok()) {
    const int protection = mapping.shared ? mapping.protection : PROT_READ | PROT_WRITE;
    // The kernel must not set memory aside for what was mapped to be read alone.
    const int kind = MAP_FIXED | (mapping.shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE);
    const long at = raw_call(SYS_mmap, static_cast<long>(mapping.low),
                             static_cast<long>(mapping.high - mapping.low), protection, kind, fd,
                             static_cast<long>(mapping.offset));
    if (at != static_cast<long>(mapping.low))
      good = error(MPI_ERR_IO, "%s, which a rank has mapped: mmap: %s", path.c_str(),
                   strerror(static_cast<int>(-at)));
  }
  raw_call(SYS_close, fd);
  if (good.ok())
    add_other_mapping(index, reinterpret_cast<void*>(mapping.low), mapping.high - mapping.low);
  return good;
}

}  // namespace

const char* describe_other_mapping(uint32_t index) {
  const char* reason = nullptr;
  visit_other_mappings(index, [&](const KernelMapping& mapping) {
    reason = reason_against(index, mapping);
    return reason == nullptr;
  });
  return reason;
}

const char* describe_file_mappings(uint32_t index, void** list, uint64_t* list_bytes) {
  free(*list);
  *list = nullptr;
  *list_bytes = 0;
  const char* reason = nullptr;
  std::vector<uint8_t> bytes;
  visit_other_mappings(index, [&](const KernelMapping& mapping) {
    reason = reason_against(index, mapping);
    if (reason) return false;
    if (is_writable_file(mapping))
      raw_call(SYS_msync, static_cast<long>(mapping.low),
               static_cast<long>(mapping.high - mapping.low), MS_SYNC);
    struct stat file {};
    stat(mapping.path, &file);
    append_text(&bytes, mapping.path);
    append(&bytes, identity_of(file));
    append(&bytes, uint64_t{mapping.low});
    append(&bytes, uint64_t{mapping.high});
    append(&bytes, mapping.offset);
    append(&bytes, static_cast<int32_t>(mapping.protection));
    append(&bytes, static_cast<uint8_t>(mapping.shared));
    return true;
  });
  if (reason || bytes.empty()) return reason;
  *list = allocate_in_slot_of(slot_of_rank(index), bytes.size());
  if (!*list) return "it has no memory left for the list of the files that it has mapped";
  memcpy(*list, bytes.data(), bytes.size());
  *list_bytes = bytes.size();
  return nullptr;
}

Status map_files(uint32_t index, const void* list, size_t bytes) {
  FieldReader in(list, bytes);
  while (in.left() > 0) {
    const std::string path(in.get_text());
    const auto before = in.get<FileIdentity>();
    KernelMapping mapping;
    mapping.low = in.get<uint64_t>();
    mapping.high = in.get<uint64_t>();
    mapping.offset = in.get<uint64_t>();
    mapping.protection = in.get<int32_t>();
    mapping.shared = in.get<uint8_t>() != 0;
    if (in.failed() || !is_in_slot(index, mapping.low, mapping.high))
      return error(MPI_ERR_OTHER, "the list of files that a rank has mapped is damaged");
    FGMPI_TRY(map_file(index, path, mapping, before));
  }
  return {};
}

}  // namespace fgmpi::privatize
