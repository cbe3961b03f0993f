// malloc and its relatives, in front of the C library's. A rank's memory comes from its slot;
// all other memory from the C library.
#include <dlfcn.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>

#include "base/page.h"
#include "heap/callers.h"
#include "heap/rank_heap.h"

#define EXPORT extern "C" __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* block);
}

namespace fgmpi::heap {
namespace {

const void* const g_nobody = nullptr;
constinit Ranks g_ranks = {&g_nobody, 0, 0, 0, 0, 1, 0, nullptr};
constinit Slots g_slots;
constinit Callers g_callers;
/// True on the scheduler's thread. Other threads' memory is the process's.
[[gnu::tls_model("initial-exec")]] thread_local bool t_schedules = false;

/// Where memory beyond small blocks was taken: by rank and place, what was taken in all. Only where
/// there is a limit.
struct TakenAt {
  const void* place;
  uint32_t index;
  uint64_t bytes;
};
constexpr size_t kPlaces = 8192;
TakenAt* g_taken = nullptr;

void record_taken(uint32_t index, const void* place, uint64_t bytes) {
  const size_t hash = (reinterpret_cast<uintptr_t>(place) * 31 + index) * 0x9e3779b97f4a7c15 >> 51;
  for (size_t tries = 0; tries < 16; ++tries) {
    TakenAt& at = g_taken[(hash + tries) % kPlaces];
    if (at.place && (at.place != place || at.index != index)) continue;
    at.place = place;
    at.index = index;
    at.bytes += bytes;
    return;
  }
}

/// The scheduler's thread began with this stack. There the MPI library calls what needs much stack,
/// such as the hosted MPICH, also while a rank runs. Nothing else is mapped so near below it.
constexpr uintptr_t kMostHostStack = uintptr_t{96} << 20;
uintptr_t g_host_stack_end = 0;

/// The heap of the running rank; nullptr on a thread or a stack of no rank.
[[gnu::always_inline]] inline RankHeap* running_heap(uint32_t* index) {
  if (!t_schedules ||
      g_host_stack_end - reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) < kMostHostStack)
    return nullptr;
  const auto* running = static_cast<const char*>(*g_ranks.running);
  if (!running || running[g_ranks.kind_at] != 0) return nullptr;
  *index = *reinterpret_cast<const uint32_t*>(running + g_ranks.index_at);
  if (*index >= g_ranks.ranks) return nullptr;
  RankHeap* heap = RankHeap::at(g_slots.of_rank(*index));
  if (!heap->exists()) [[unlikely]]
    heap->begin(g_slots, g_ranks.limit);
  return heap;
}

/// Says that the rank has no more memory.
[[gnu::cold]] void* refuse(RankHeap* heap, uint32_t index, size_t bytes) {
  errno = ENOMEM;
  if (!g_ranks.refused) return nullptr;
  Ranks::TakingPlace most[3] = {};
  if (g_taken)
    for (size_t i = 0; i < kPlaces; ++i) {
      const TakenAt& at = g_taken[i];
      if (!at.place || at.index != index || at.bytes <= most[2].bytes) continue;
      most[2] = {at.place, at.bytes};
      std::sort(most, most + 3, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    }
  const auto count = std::count_if(most, most + 3, [](const auto& s) { return s.bytes != 0; });
  g_ranks.refused(index, bytes, heap->taken(), most, static_cast<size_t>(count));
  return nullptr;
}

/// Counts at which place the rank's heap has grown.
[[gnu::cold, gnu::noinline]] void* counted(RankHeap* heap, uint32_t index, size_t alignment,
                                           size_t bytes, const void* place) {
  const uint64_t before = heap->taken();
  void* block = heap->allocate_aligned(alignment, bytes);
  if (g_taken && heap->taken() > before) record_taken(index, place, heap->taken() - before);
  return block ? block : refuse(heap, index, bytes);
}

[[gnu::always_inline]] inline void* allocate(size_t bytes, const void* place) {
  uint32_t index;
  RankHeap* heap = running_heap(&index);
  if (!heap || !g_callers.is_for_rank(place)) return __libc_malloc(bytes);
  if (g_taken) [[unlikely]]
    return counted(heap, index, kGranule, bytes, place);
  void* block = heap->allocate(bytes);
  return block ? block : refuse(heap, index, bytes);
}

void* allocate_aligned(size_t alignment, size_t bytes, const void* place) {
  uint32_t index;
  RankHeap* heap = running_heap(&index);
  if (!heap || !g_callers.is_for_rank(place)) return __libc_memalign(alignment, bytes);
  return counted(heap, index, alignment, bytes, place);
}

[[gnu::always_inline]] inline void release(void* block) {
  if (!g_slots.has(block)) return __libc_free(block);
  RankHeap* heap = RankHeap::at(g_slots.of_rank(g_slots.rank_of(block)));
  if (!heap->exists()) return;  // the rank has ended, and its memory with it
  if (t_schedules)
    heap->free(block, g_slots.offset_of(block));
  else
    heap->give_back(block);
}

size_t size_of(const void* block) {
  const RankHeap* heap = RankHeap::at(g_slots.of_rank(g_slots.rank_of(block)));
  return heap->exists() ? heap->size_of(block, g_slots.offset_of(block)) : 0;
}

void* clear(void* block, size_t bytes) {
  if (!block) return nullptr;
  // Pages of which there is no memory are zero, and need not be touched.
  constexpr size_t kMany = size_t{128} << 10;
  if (bytes < kMany || !g_slots.has(block)) return memset(block, 0, bytes);
  auto* const first = static_cast<char*>(block);
  char* const from = reinterpret_cast<char*>(page_up(reinterpret_cast<uintptr_t>(first)));
  char* const end =
      reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(first + bytes) & ~(page_bytes() - 1));
  memset(first, 0, static_cast<size_t>(from - first));
  if (madvise(from, static_cast<size_t>(end - from), MADV_DONTNEED) != 0)
    memset(from, 0, static_cast<size_t>(end - from));
  memset(end, 0, static_cast<size_t>(first + bytes - end));
  return block;
}

/// realloc() of a block of a rank, on whatever stack.
void* resize(void* block, size_t bytes, const void* place) {
  const size_t before = size_of(block);
  if (bytes <= before && (bytes > before / 2 || before <= 64)) return block;
  RankHeap* heap = RankHeap::at(g_slots.of_rank(g_slots.rank_of(block)));
  if (bytes > before && t_schedules && g_slots.offset_of(block) >= g_slots.half() &&
      heap->exists() && heap->grow_in_place(block, bytes))
    return block;
  void* moved = allocate(bytes, place);
  if (!moved) return nullptr;
  memcpy(moved, block, std::min(before, bytes));
  release(block);
  return moved;
}

/// realloc(), called at that place.
void* reallocate(void* block, size_t bytes, const void* place) {
  if (!block) return allocate(bytes, place);
  if (!g_slots.has(block)) return __libc_realloc(block, bytes);
  if (bytes) return resize(block, bytes, place);
  release(block);
  return nullptr;
}

bool is_power_of_two(size_t n) { return n && !(n & (n - 1)); }

// ---- For the library ----------------------------------------------------------------------------

const char* attach(const Ranks& ranks) {
  static char words[256];
  Slots slots;
  Status placed = slots.place(ranks.process, ranks.processes, ranks.ranks);
  if (placed.ok()) placed = slots.map(ranks.ranks);
  if (!placed.ok()) {
    snprintf(words, sizeof words, "%s", placed.what().c_str());
    return words;
  }
  if (ranks.limit) {
    void* memory = mmap(nullptr, kPlaces * sizeof(TakenAt), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_taken = memory == MAP_FAILED ? nullptr : static_cast<TakenAt*>(memory);
  }
  g_slots = slots;
  g_ranks = ranks;
  // Behind the last frame are arguments and the environment, which are less than this.
  g_host_stack_end =
      reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) + (uintptr_t{16} << 20);
  t_schedules = true;
  return nullptr;
}

HeapUse use_of(uint32_t index) {
  const RankHeap* heap = RankHeap::at(g_slots.of_rank(index));
  return g_slots.bytes && index < g_ranks.ranks && heap->exists() ? heap->use() : HeapUse();
}

void rank_ends(uint32_t index) {
  if (!g_slots.bytes || index >= g_ranks.ranks) return;
  const size_t guard = page_bytes();
  madvise(g_slots.of_rank(index), (size_t{1} << g_slots.shift) - guard, MADV_DONTNEED);
}

HeapsTable table() { return {1, g_slots.first, g_slots.shift, g_ranks.ranks}; }

int64_t owner_of(const void* address) {
  return g_slots.has(address) ? int64_t{g_slots.rank_of(address)} : -1;
}

constexpr HeapHooks kHooks = {attach, use_of, rank_ends, table, owner_of};

}  // namespace
}  // namespace fgmpi::heap

using namespace fgmpi::heap;

EXPORT const HeapHooks* fgmpi_heap_hooks() { return &kHooks; }

EXPORT void* malloc(size_t bytes) { return allocate(bytes, CALLER); }
EXPORT void free(void* block) { release(block); }
EXPORT void cfree(void* block) { release(block); }

EXPORT void* calloc(size_t count, size_t each) {
  uint32_t index;
  RankHeap* heap = running_heap(&index);
  if (!heap || !g_callers.is_for_rank(CALLER)) return __libc_calloc(count, each);
  size_t bytes;
  if (__builtin_mul_overflow(count, each, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return clear(allocate(bytes, CALLER), bytes);
}

EXPORT void* realloc(void* block, size_t bytes) { return reallocate(block, bytes, CALLER); }

EXPORT void* reallocarray(void* block, size_t count, size_t each) {
  size_t bytes;
  if (__builtin_mul_overflow(count, each, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return reallocate(block, bytes, CALLER);
}

EXPORT void* memalign(size_t alignment, size_t bytes) {
  return allocate_aligned(alignment, bytes, CALLER);
}
EXPORT void* aligned_alloc(size_t alignment, size_t bytes) {
  return allocate_aligned(alignment, bytes, CALLER);
}
EXPORT int posix_memalign(void** block, size_t alignment, size_t bytes) {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int before = errno;
  void* got = allocate_aligned(alignment, bytes, CALLER);
  errno = before;
  if (!got) return ENOMEM;
  *block = got;
  return 0;
}
EXPORT void* valloc(size_t bytes) { return allocate_aligned(fgmpi::page_bytes(), bytes, CALLER); }
EXPORT void* pvalloc(size_t bytes) {
  return allocate_aligned(fgmpi::page_bytes(), fgmpi::page_up(bytes), CALLER);
}

EXPORT size_t malloc_usable_size(void* block) {
  static auto* const real =
      reinterpret_cast<size_t (*)(void*)>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  if (!block) return 0;
  return g_slots.has(block) ? size_of(block) : real(block);
}

// ---- operator new, so that the place of its call is known ---------------------------------------

static void* new_block(size_t bytes, size_t alignment, const void* place, bool throws) {
  for (;;) {
    void* block = alignment <= kGranule ? allocate(bytes ? bytes : 1, place)
                                        : allocate_aligned(alignment, bytes ? bytes : 1, place);
    if (block) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler)
      handler();
    else if (throws)
      throw std::bad_alloc();
    else
      return nullptr;
  }
}

void* operator new(size_t bytes) {
  if (void* block = allocate(bytes, CALLER)) [[likely]]
    return block;
  return new_block(bytes, kGranule, CALLER, true);
}
void* operator new[](size_t bytes) {
  if (void* block = allocate(bytes, CALLER)) [[likely]]
    return block;
  return new_block(bytes, kGranule, CALLER, true);
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return new_block(bytes, kGranule, CALLER, false);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return new_block(bytes, kGranule, CALLER, false);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return new_block(bytes, static_cast<size_t>(alignment), CALLER, true);
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return new_block(bytes, static_cast<size_t>(alignment), CALLER, true);
}
void* operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return new_block(bytes, static_cast<size_t>(alignment), CALLER, false);
}
void* operator new[](size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return new_block(bytes, static_cast<size_t>(alignment), CALLER, false);
}
void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, size_t) noexcept { release(block); }
void operator delete[](void* block, size_t) noexcept { release(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { release(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { release(block); }
void operator delete(void* block, std::align_val_t) noexcept { release(block); }
void operator delete[](void* block, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { release(block); }
void operator delete[](void* block, size_t, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  release(block);
}
void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  release(block);
}
