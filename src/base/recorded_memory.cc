// Blocks, and the mappings that they are cut from.

#include "base/recorded_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <bit>
#include <new>

#include "base/environment.h"
#include "base/page.h"
#include "base/raw_call.h"

namespace fgmpi {
namespace {

constexpr size_t kStep = size_t{1} << 30;

uintptr_t g_next = detail::kRecordedLow;

long call_kernel(long number, uintptr_t at, size_t bytes, long c, long d = 0, long e = 0) {
  const auto a = static_cast<long>(at), b = static_cast<long>(bytes);
  return g_untrapped_call ? g_untrapped_call(number, a, b, c, d, e, 0)
                          : raw_call(number, a, b, c, d, e, 0L);
}

void* map_recorded(size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  while (bytes <= detail::kRecordedHigh - g_next) {
    const long at = call_kernel(SYS_mmap, g_next, bytes, PROT_READ | PROT_WRITE, kFlags, -1);
    if (at == static_cast<long>(g_next)) {
      g_next += bytes;
      return reinterpret_cast<void*>(at);
    }
    if (at != -EEXIST) return nullptr;
    g_next = (g_next / kStep + 1) * kStep;  // another library with this code has mapped memory here
  }
  return nullptr;
}

void discard_recorded(void* pages, size_t bytes) {
  call_kernel(SYS_madvise, reinterpret_cast<uintptr_t>(pages), bytes, MADV_DONTNEED);
}

// No constructor makes this object: libraries allocate before one would have run.
constinit OwnBlocks g_blocks(map_recorded, discard_recorded);

}  // namespace

bool is_recorded_run() {
  static const bool recorded = environment::text(environment::kRewind) != nullptr;
  return recorded;
}

unsigned OwnBlocks::class_of(size_t bytes) {
  if (bytes <= 64) return static_cast<unsigned>((bytes + 15) / 16);
  const int top = 63 - std::countl_zero(bytes - 1);  // 2^top <= bytes - 1
  const auto step = static_cast<unsigned>((bytes - 1) >> (top - 2)) - 3;
  return static_cast<unsigned>(top - 6) * 4 + step + 4;
}

size_t OwnBlocks::size_of(unsigned size_class) {
  if (size_class <= 4) return size_t{size_class} * 16;
  return size_t{4u + (size_class & 3u)} << (3 + size_class / 4);
}

void* OwnBlocks::take(size_t bytes, size_t alignment) {
  constexpr size_t kMost = size_t{1} << 42;
  if (bytes > kMost || alignment > kMost) return nullptr;
  alignment = std::max(alignment, alignof(std::max_align_t));
  const unsigned size_class =
      class_of(bytes + sizeof(Head) + alignment - alignof(std::max_align_t));
  const size_t size = size_of(size_class);
  char* block = reinterpret_cast<char*>(reused_[size_class]);
  if (block) {
    reused_[size_class] = reused_[size_class]->next;
  } else {
    if (static_cast<size_t>(end_ - at_) < size) {
      const size_t mapped = (size + kMapped - 1) / kMapped * kMapped;
      auto* const more = static_cast<char*>(map_(mapped));
      if (!more) return nullptr;
      if (more != end_) at_ = more;  // else the mappings are one
      end_ = more + mapped;
    }
    block = at_;
    at_ += size;
  }
  auto at = reinterpret_cast<uintptr_t>(block) + sizeof(Head);
  at = (at + alignment - 1) / alignment * alignment;
  reinterpret_cast<Head*>(at)[-1] = {block, size_class};
  return reinterpret_cast<void*>(at);
}

void OwnBlocks::give(void* memory) {
  const Head head = static_cast<Head*>(memory)[-1];
  const size_t size = size_of(static_cast<unsigned>(head.size_class));
  if (size > kDiscarded) {  // all pages but the one of the list
    const auto start = reinterpret_cast<uintptr_t>(head.start);
    const size_t page = machine_page_bytes();
    const uintptr_t low = page_up(start + sizeof(Reused), page);
    discard_(reinterpret_cast<void*>(low), page_down(start + size, page) - low);
  }
  reused_[head.size_class] = new (head.start) Reused{reused_[head.size_class]};
}

namespace detail {

bool g_uses_heap = false;

void* allocate_recorded(size_t bytes, size_t alignment) {
  if (is_recorded_run()) return g_blocks.take(bytes, alignment);
  g_uses_heap = true;
  return alignment <= alignof(std::max_align_t) ? std::malloc(bytes)
                                                : std::aligned_alloc(alignment, bytes);
}

void free_recorded(void* memory) { g_blocks.give(memory); }

}  // namespace detail

}  // namespace fgmpi
