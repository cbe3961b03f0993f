// The large pages from which the checker's memory is allocated.

#include "check/memory/memory.h"

#include <sys/mman.h>

#include <cstdint>

#include "base/recorded_memory.h"
#include "check/memory/own_memory.h"

namespace fgmpi::check {

namespace {

constexpr size_t kLarge = size_t{2} << 20;
/// The size of the first mapping. Jobs with few ranks in a process need no more, so it
/// is no large page.
constexpr size_t kFirst = size_t{256} << 10;

uintptr_t g_at = 0, g_end = 0;
bool g_first = true;

void map_more(size_t bytes) {
  const size_t size = g_first && bytes <= kFirst ? kFirst : (bytes + kLarge - 1) / kLarge * kLarge;
  const size_t mapped = size < kLarge ? size : size + kLarge;  // contains an aligned large page
  void* at = map_memory(is_recorded_run() ? size : mapped);
  if (!at) throw std::bad_alloc();
  g_at = reinterpret_cast<uintptr_t>(at);
  if (size >= kLarge && !is_recorded_run()) {
    const uintptr_t begin = (g_at + kLarge - 1) / kLarge * kLarge;
    munmap(at, begin - g_at);
    munmap(reinterpret_cast<void*>(begin + size), g_at + mapped - begin - size);
    g_at = begin;
    madvise(reinterpret_cast<void*>(begin), size, MADV_HUGEPAGE);
  }
  g_end = g_at + size;
  g_first = false;
}

}  // namespace

void* allocate_memory(size_t bytes, size_t alignment) {
#ifdef __SANITIZE_ADDRESS__
  // ASan's leak checker does not search mapped memory.
  return ::operator new (bytes, std::align_val_t{alignment});
#endif
  auto aligned = [&] { return (g_at + alignment - 1) / alignment * alignment; };
  if (aligned() + bytes > g_end) map_more(bytes + alignment);
  const uintptr_t at = aligned();
  g_at = at + bytes;
  return reinterpret_cast<void*>(at);
}

}  // namespace fgmpi::check
