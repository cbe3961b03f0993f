// How caches are made, filled and emptied.
#include "heap/thread_cache.h"

#include <pthread.h>

#include <mutex>

namespace fgmpi::heap {

[[gnu::tls_model("initial-exec")]] thread_local constinit ThreadCache* t_cache = nullptr;
constinit LastOfScheduler g_last = {};

namespace {

pthread_key_t g_end_of_thread;

unsigned most_of(unsigned number) { return 2 * batch_of(size_of_number(number)); }

/// Gives cached blocks of this size back until there is so much room. REQUIRES: the heap is locked.
void give_back_blocks(ThreadCache* cache, unsigned number, unsigned room) {
  RankHeap* heap = cache->heap;
  while (cache->room[number] < room) {
    UnusedBlock* block = cache->free[number];
    cache->free[number] = block->next;
    ++cache->room[number];
    heap->free(block, g_process.slots.offset_of(block));
  }
}

/// A thread of a rank ends: its blocks go back to the heap, unless that is gone.
void end_cache(void* ended) {
  auto* cache = static_cast<ThreadCache*>(ended);
  t_cache = nullptr;
  RankHeap* heap = RankHeap::at(g_process.slots.of_rank(g_process.slots.rank_of(cache)));
  if (!heap->exists() || cache->heap != heap) return;
  const std::lock_guard<HeapLock> guard(heap->lock());
  for (unsigned number = 0; number < kFineSizes; ++number)
    give_back_blocks(cache, number, most_of(number));
  heap->free(cache, g_process.slots.offset_of(cache));
}

/// The calling thread's cache for the heap, which it holds locked; nullptr: there is no memory.
ThreadCache* cache_for(RankHeap* heap) {
  ThreadCache*& cache = t_schedules ? heap->scheduler_cache() : t_cache;
  if (cache && cache->heap == heap) return cache;
  auto* made = static_cast<ThreadCache*>(heap->allocate(sizeof(ThreadCache)));
  if (!made) return nullptr;
  *made = {heap, g_process.slots.half() - kSpanBytes, {}, {}};
  for (unsigned i = 0; i < kFineSizes; ++i) made->room[i] = static_cast<uint8_t>(most_of(i));
  cache = made;
  if (!t_schedules) pthread_setspecific(g_end_of_thread, made);
  return made;
}

}  // namespace

void begin_thread_caches() {
  g_process.caches = !g_process.counts && !g_process.ranks.records_blocks &&
                     pthread_key_create(&g_end_of_thread, end_cache) == 0;
}

void shrink_cache(ThreadCache* cache, unsigned number) {
  const std::lock_guard<HeapLock> guard(cache->heap->lock());
  give_back_blocks(cache, number, most_of(number) / 2);
}

void* allocate_and_fill_cache(uint32_t index, size_t bytes) {
  const HeapUser user(index);
  RankHeap* heap = user.heap();
  void* block = heap->allocate(bytes);
  ThreadCache* cache =
      block && bytes <= kMostCached && g_process.caches ? cache_for(heap) : nullptr;
  if (!cache) return block;
  if (t_schedules) g_last = {running_on_scheduler(), cache};
  const unsigned number = size_number(bytes);
  const size_t size = size_of_number(number);
  while (cache->room[number] > most_of(number) / 2) {
    void* more = heap->allocate(size);
    if (!more) break;
    const size_t offset = g_process.slots.offset_of(more);
    if (offset < kSpanBytes || offset >= g_process.slots.half()) {
      heap->free(more, offset);  // not of a span
      break;
    }
    auto* unused = static_cast<UnusedBlock*>(more);
    unused->next = cache->free[number];
    cache->free[number] = unused;
    --cache->room[number];
  }
  return block;
}

}  // namespace fgmpi::heap
