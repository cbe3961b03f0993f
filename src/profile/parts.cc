// Making and opening the parts of a process's file.

#include "profile/parts.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>

namespace fgmpi::report {
namespace {

ProfileHeader* g_header = nullptr;
int g_fd = -1;
struct stat g_file {};

/// Is the descriptor still that of the file? A program may close all descriptors and open
/// files of its own.
bool is_open() {
  struct stat now {};
  return fstat(g_fd, &now) == 0 && now.st_dev == g_file.st_dev && now.st_ino == g_file.st_ino;
}

}  // namespace

void use_file_for_parts(ProfileHeader* header, int fd) {
  g_header = header;
  g_fd = fd;
  fstat(fd, &g_file);
  header->parts_used = kPartUnit;  // 0 is no part
}

Part make_part(size_t bytes) {
  const auto rounded = static_cast<uint32_t>((bytes + kPartUnit - 1) / kPartUnit * kPartUnit);
  if (!g_header || bytes > kPartsBytes) return 0;
  std::atomic_ref used(g_header->parts_used);
  Part part = used.load(std::memory_order_relaxed);
  do {
    if (rounded > kPartsBytes - part) return 0;
  } while (!used.compare_exchange_weak(part, part + rounded, std::memory_order_relaxed));
  const auto at = static_cast<off_t>(g_header->parts_at + part);
  return is_open() && posix_fallocate(g_fd, at, static_cast<off_t>(rounded)) == 0 ? part : 0;
}

}  // namespace fgmpi::report
