// The process's memory as the kernel and the heap count it.

#include "base/memory_use.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/counters.h"
#include "base/page.h"

namespace fgmpi {
namespace {

// Bits of an entry of /proc/self/pagemap.
constexpr uint64_t kPresent = uint64_t{1} << 63, kSwapped = uint64_t{1} << 62,
                   kOfFileOrShared = uint64_t{1} << 61;
// A guard page (MADV_GUARD_INSTALL), which has no memory, but kSwapped.
constexpr uint64_t kGuardPage = uint64_t{1} << 58;

uint64_t heap_bytes() {
#ifdef __GLIBC__
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

[[maybe_unused]] const bool g_counters_provided = [] {
  using namespace counters;
  provide(kMemoryResident, [](const void*) { return status_bytes("VmRSS"); });
  provide(kMemoryPeak, [](const void*) { return status_bytes("VmHWM"); });
  provide(kMemoryShared, [](const void*) { return status_bytes("RssShmem"); });
  provide(kMemoryHeap, [](const void*) { return heap_bytes(); });
  return true;
}();

}  // namespace

uint64_t own_bytes(uintptr_t low, uintptr_t high) {
  const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const size_t bytes = machine_page_bytes();
  uint64_t pages = 0, entries[512];
  for (uintptr_t page = low / bytes, last = (high + bytes - 1) / bytes; page < last;) {
    const size_t wanted = std::min<size_t>(last - page, sizeof entries / sizeof *entries);
    const ssize_t got =
        pread(fd, entries, wanted * sizeof *entries, static_cast<off_t>(page * sizeof *entries));
    if (got < static_cast<ssize_t>(sizeof *entries)) break;
    const size_t count = static_cast<size_t>(got) / sizeof *entries;
    for (size_t i = 0; i < count; ++i)
      pages +=
          (entries[i] & (kPresent | kSwapped)) && !(entries[i] & (kOfFileOrShared | kGuardPage));
    page += count;
  }
  close(fd);
  return pages * bytes;
}

uint64_t status_bytes(const char* name) {
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[4096];
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = '\0';
  char wanted[64];
  std::snprintf(wanted, sizeof wanted, "\n%s:", name);
  const char* line = std::strstr(text, wanted);
  return line ? std::strtoull(line + std::strlen(wanted), nullptr, 10) << 10 : 0;
}

}  // namespace fgmpi
