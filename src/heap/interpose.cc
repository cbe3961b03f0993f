// malloc and its relatives, in front of the C library's. A rank's memory comes from its slot;
// all other memory from the C library.
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/page.h"
#include "heap/blocks.h"
#include "heap/places.h"
#include "heap/running.h"
#include "heap/taken_at.h"
#include "heap/thread_cache.h"

#define EXPORT extern "C" __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

namespace fgmpi::heap {
namespace {

/// Where blocks are recorded, so many of their bytes are zero at first.
constexpr size_t kMostCleared = size_t{256} << 10;

/// Counts at which place the rank's heap has grown.
[[gnu::noinline]] void* counted(uint32_t index, size_t alignment, size_t bytes, const void* place) {
  void* block;
  uint64_t grown;
  {
    const HeapUser user(index);
    const uint64_t before = user.heap()->taken();
    block = user.heap()->allocate_aligned(alignment, bytes);
    grown = user.heap()->taken() - before;
  }
  const bool has_grown = grown && grown < uint64_t{1} << 63;
  if (has_grown || g_process.ranks.records_blocks) place = place_of_program(place);
  if (has_grown) record_taken(index, place, grown);
  if (block && g_process.ranks.records_blocks) {
    // What the allocator has left there would look like pointers of the program.
    memset(block, 0, std::min(bytes, kMostCleared));
    add_block(block, bytes, place);
  }
  return block ? block : refuse(index, bytes);
}

[[gnu::noinline]] void* allocate_uncached(size_t bytes) {
  uint32_t index;
  if (!is_rank_with_threads(&index)) return __libc_malloc(bytes);
  void* block = allocate_and_fill_cache(index, bytes);
  return block ? block : refuse(index, bytes);
}

/// What is not for a rank that is alone on its thread.
[[gnu::noinline]] void* allocate_elsewhere(size_t bytes, const void* place) {
  if (!is_for_rank(place)) return __libc_malloc(bytes);
  if (void* block = take_cached(bytes)) [[likely]]
    return block;
  uint32_t index;
  if (g_process.caches) return allocate_uncached(bytes);
  if (!is_rank_with_threads(&index)) return __libc_malloc(bytes);
  return counted(index, kGranule, bytes, place);
}

[[gnu::always_inline]] inline void* allocate(size_t bytes, const void* place) {
  uint32_t index;
  if (!is_rank_alone(&index)) return allocate_elsewhere(bytes, place);
  if (!is_for_rank(place)) return __libc_malloc(bytes);
  if (g_process.counts) [[unlikely]]
    return counted(index, kGranule, bytes, place);
  void* block = heap_at(index)->allocate(bytes);
  return block ? block : refuse(index, bytes);
}

void* allocate_aligned(size_t alignment, size_t bytes, const void* place) {
  uint32_t index;
  if (!finds_rank(&index, place)) return __libc_memalign(alignment, bytes);
  return counted(index, alignment, bytes, place);
}

[[gnu::noinline]] void release_uncached(RankHeap* heap, void* block, size_t offset) {
  if (!heap->exists()) return;  // the rank has ended, and its memory with it
  if (!g_process.threads) return heap->give_back(block);
  if (g_process.ranks.records_blocks) remove_block(block);
  heap->lock().lock();
  heap->free(block, offset);
  heap->lock().unlock();
}

/// Frees a block of a rank's heap where that is not the scheduler's alone.
[[gnu::noinline]] void release_elsewhere(RankHeap* heap, void* block, size_t offset) {
  if (give_to_cache(heap, block, offset)) return;
  release_uncached(heap, block, offset);
}

[[gnu::always_inline]] inline void release(void* block) {
  const Slots& slots = g_process.slots;
  if (!slots.has(block)) return __libc_free(block);
  RankHeap* heap = RankHeap::at(slots.of_rank(slots.rank_of(block)));
  const size_t offset = slots.offset_of(block);
  if (!t_schedules_alone) [[unlikely]]
    return release_elsewhere(heap, block, offset);
  if (heap->exists()) heap->free(block, offset);
}

size_t size_of(const void* block) {
  const Slots& slots = g_process.slots;
  const RankHeap* heap = RankHeap::at(slots.of_rank(slots.rank_of(block)));
  return heap->exists() ? heap->size_of(block, slots.offset_of(block)) : 0;
}

void* clear(void* block, size_t bytes) {
  if (!block) return nullptr;
  // Pages of which there is no memory are zero, and need not be touched.
  constexpr size_t kMany = size_t{128} << 10;
  if (bytes < kMany || !g_process.slots.has(block)) return memset(block, 0, bytes);
  auto* const first = static_cast<char*>(block);
  char* const from = reinterpret_cast<char*>(page_up(reinterpret_cast<uintptr_t>(first)));
  char* const end =
      reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(first + bytes) & ~(page_bytes() - 1));
  memset(first, 0, static_cast<size_t>(from - first));
  if (!g_process.slots.drop(from, static_cast<size_t>(end - from)))
    memset(from, 0, static_cast<size_t>(end - from));
  memset(end, 0, static_cast<size_t>(first + bytes - end));
  return block;
}

/// Makes a large block of a rank longer where it is.
bool grow_in_place(void* block, size_t bytes, const void* place) {
  const Slots& slots = g_process.slots;
  if (slots.offset_of(block) < slots.half() || !(t_schedules_alone || g_process.threads))
    return false;
  const HeapUser user(slots.rank_of(block));
  if (!user.heap()->grow_in_place(block, bytes)) return false;
  if (g_process.ranks.records_blocks) add_block(block, bytes, place_of_program(place));
  return true;
}

/// Memory for what a block of a rank holds: of the rank for which the caller allocates, else, as
/// for the C library, which may have got the block from a program, of the same rank.
void* allocate_anew(const void* block, size_t bytes, const void* place) {
  uint32_t index;
  const bool may_lock = t_schedules_alone || g_process.threads;
  if (!may_lock || finds_rank(&index, place)) return allocate(bytes, place);
  return counted(g_process.slots.rank_of(block), kGranule, bytes, place);
}

/// realloc() of a block of a rank, on whatever stack.
void* resize(void* block, size_t bytes, const void* place) {
  const size_t before = size_of(block);
  if (bytes <= before && (bytes > before / 2 || before <= 64)) return block;
  if (bytes > before && before > 0 && grow_in_place(block, bytes, place)) return block;
  void* moved = allocate_anew(block, bytes, place);
  if (!moved) return nullptr;
  memcpy(moved, block, std::min(before, bytes));
  release(block);
  return moved;
}

/// realloc(), called at that place.
void* reallocate(void* block, size_t bytes, const void* place) {
  if (!block) return allocate(bytes, place);
  if (!g_process.slots.has(block)) return __libc_realloc(block, bytes);
  if (bytes) return resize(block, bytes, place);
  release(block);
  return nullptr;
}

bool is_power_of_two(size_t n) { return n && !(n & (n - 1)); }

}  // namespace
}  // namespace fgmpi::heap

using namespace fgmpi::heap;

EXPORT void* malloc(size_t bytes) { return allocate(bytes, CALLER); }
EXPORT void free(void* block) { release(block); }
EXPORT void cfree(void* block) { release(block); }

EXPORT void* calloc(size_t count, size_t each) {
  uint32_t index;
  if (!finds_rank(&index, CALLER)) return __libc_calloc(count, each);
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
  return g_process.slots.has(block) ? size_of(block) : real(block);
}

// ---- Functions of the C library whose callers would not be known --------------------------------

static char* copy_of(const char* text, size_t length, const void* place) {
  auto* copy = static_cast<char*>(allocate(length + 1, place));
  if (!copy) return nullptr;
  copy[length] = '\0';
  return static_cast<char*>(memcpy(copy, text, length));
}

EXPORT char* strdup(const char* text) { return copy_of(text, strlen(text), CALLER); }
EXPORT char* __strdup(const char* text) { return copy_of(text, strlen(text), CALLER); }
EXPORT char* strndup(const char* text, size_t most) {
  return copy_of(text, strnlen(text, most), CALLER);
}
EXPORT char* __strndup(const char* text, size_t most) {
  return copy_of(text, strnlen(text, most), CALLER);
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
