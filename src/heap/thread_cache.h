// ThreadCache: freed blocks of a heap that one thread has at hand, where ranks have threads, so
// that most calls take no lock. It is a block of the heap.
//
//   malloc   from the cache; where it is empty, some blocks at a time from the heap, under its lock
//   free     to the cache; where that is full, half of its blocks of that size to the heap
//
// A thread of a rank has a cache, as it allocates for that rank only. The scheduler's thread has
// one for each heap: it allocates for the rank that runs. Blocks of up to kMostCached bytes are
// cached, and of each size at most 4 KiB. What a block's size is follows from its span, which does
// not change while the block is in use; so blocks of the first page, and large ones, are not
// cached.
//
// Thread rule: a cache belongs to one thread. While blocks are counted or recorded, none is used.
#pragma once

#include <algorithm>

#include "heap/running.h"

namespace fgmpi::heap {

constexpr size_t kMostCached = kFineLimit;
/// So many blocks are taken and given back at a time, and at most twice as many are kept.
constexpr unsigned batch_of(size_t size) {
  return static_cast<unsigned>(std::clamp<size_t>(2048 / size, 2, 16));
}

struct ThreadCache {
  RankHeap* heap;     ///< nullptr: the rank has ended, and its memory with it
  size_t span_bytes;  ///< of all spans behind the first
  UnusedBlock* free[kFineSizes];
  uint8_t room[kFineSizes];  ///< by size: how many blocks it can have more
};

/// The cache of a thread that a rank has started; nullptr: it has none yet, or is no such thread.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit ThreadCache* t_cache;
/// The proclet that the scheduler's thread has allocated for last, and the cache for it. Thread
/// rule: the scheduler's thread.
struct LastOfScheduler {
  const void* proclet;
  ThreadCache* cache;
};
extern constinit LastOfScheduler g_last;

/// The proclet that runs on the scheduler's thread, where ranks have threads.
[[gnu::always_inline]] inline const void* running_on_scheduler() {
  const Ranks& ranks = g_process.ranks;
  if (*ranks.threads_enabled && *ranks.inside == 0)
    return *reinterpret_cast<const void* const*>(static_cast<const char*>(*ranks.user) +
                                                 ranks.outside_at);
  return *ranks.running;
}

/// A block of the calling thread's cache; nullptr: it has none of that size.
[[gnu::always_inline]] inline void* take_cached(size_t bytes) {
  if (bytes > kMostCached) return nullptr;
  ThreadCache* cache = t_cache;
  if (t_schedules) {
    if (running_on_scheduler() != g_last.proclet || on_host_stack()) return nullptr;
    cache = g_last.cache;
  }
  if (!cache) return nullptr;
  const unsigned number = size_number(bytes);
  UnusedBlock* block = cache->free[number];
  if (!block) return nullptr;
  cache->free[number] = block->next;
  ++cache->room[number];
  return block;
}

/// Gives half of the cached blocks of this size back.
[[gnu::noinline]] void shrink_cache(ThreadCache* cache, unsigned number);

/// Adds a freed block to the calling thread's cache; false: it cannot have it.
[[gnu::always_inline]] inline bool give_to_cache(RankHeap* heap, void* block, size_t offset) {
  ThreadCache* cache = t_schedules ? heap->scheduler_cache() : t_cache;
  if (!cache || cache->heap != heap || offset - kSpanBytes >= cache->span_bytes) return false;
  const unsigned number = span_of_block(block)->number;
  if (number >= kFineSizes) return false;
  auto* freed = static_cast<UnusedBlock*>(block);
  freed->next = cache->free[number];
  cache->free[number] = freed;
  if (--cache->room[number] == 0) [[unlikely]]
    shrink_cache(cache, number);
  return true;
}

/// A block for the rank with this number, by the calling thread, whose cache gets some more.
/// nullptr: there is no memory.
void* allocate_and_fill_cache(uint32_t index, size_t bytes);
/// Called once, when ranks begin to have threads.
void begin_thread_caches();
/// Called when a rank has ended, and its heap is gone.
inline void forget_last_cache() { g_last = {}; }

}  // namespace fgmpi::heap
