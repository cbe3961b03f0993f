// Making and opening the parts of a process's file.

#include "profile/parts.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>

namespace fgmpi::report {
namespace {

/// The process's file in which parts are made.
struct FileOfParts {
  ProfileHeader* header = nullptr;  ///< null: no file
  int fd = -1;
  struct stat identity {};
};
constinit FileOfParts g_file;

/// Is the descriptor still that of the file? A program may close all descriptors and open
/// files of its own.
bool is_open() {
  struct stat now {};
  return fstat(g_file.fd, &now) == 0 && now.st_dev == g_file.identity.st_dev &&
         now.st_ino == g_file.identity.st_ino;
}

}  // namespace

void use_file_for_parts(ProfileHeader* header, int fd) {
  g_file.header = header;
  g_file.fd = fd;
  fstat(fd, &g_file.identity);
  header->parts_used = kPartUnit;  // 0 is no part
}

Part make_part(size_t bytes) {
  const auto rounded = static_cast<uint32_t>((bytes + kPartUnit - 1) / kPartUnit * kPartUnit);
  if (!g_file.header || bytes > kPartsBytes) return 0;
  std::atomic_ref used(g_file.header->parts_used);
  Part part = used.load(std::memory_order_relaxed);
  do {
    if (rounded > kPartsBytes - part) return 0;
  } while (!used.compare_exchange_weak(part, part + rounded, std::memory_order_relaxed));
  const auto at = static_cast<off_t>(g_file.header->parts_at + part);
  return is_open() && posix_fallocate(g_file.fd, at, static_cast<off_t>(rounded)) == 0 ? part : 0;
}

}  // namespace fgmpi::report
