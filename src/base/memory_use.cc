// The process's memory as the kernel and the heap count it.

#include "base/memory_use.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/counters.h"
#include "base/written_pages.h"

namespace fgmpi {
namespace {

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
  WrittenPages pages;
  uint64_t bytes = 0;
  pages.visit(low, high, [&](uintptr_t first, uintptr_t end) { bytes += end - first; });
  return bytes;
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
