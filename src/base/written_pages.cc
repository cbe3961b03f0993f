// Reads the kernel's list of the pages of this process.
#include "base/written_pages.h"

#include <fcntl.h>
#include <unistd.h>

namespace fgmpi {
namespace {

// Bits of an entry of /proc/self/pagemap.
constexpr uint64_t kPresent = uint64_t{1} << 63, kSwapped = uint64_t{1} << 62,
                   kOfFileOrShared = uint64_t{1} << 61;
// A guard page (MADV_GUARD_INSTALL), which has no memory, but kSwapped.
constexpr uint64_t kGuardPage = uint64_t{1} << 58;

}  // namespace

WrittenPages::WrittenPages() : fd_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}

WrittenPages::~WrittenPages() {
  if (fd_ >= 0) close(fd_);
}

bool WrittenPages::is_written(uint64_t entry) {
  return (entry & (kPresent | kSwapped)) && !(entry & (kOfFileOrShared | kGuardPage));
}

size_t WrittenPages::read(uintptr_t page, size_t count) {
  if (fd_ < 0) return 0;
  const ssize_t got =
      pread(fd_, entries_, count * sizeof *entries_, static_cast<off_t>(page * sizeof *entries_));
  return got < 0 ? 0 : static_cast<size_t>(got) / sizeof *entries_;
}

}  // namespace fgmpi
