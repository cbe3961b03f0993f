// Which rank's heap a call is about; the start of heaps, and what the library asks of them.
#include "heap/running.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "base/page.h"
#include "base/written_pages.h"
#include "heap/leaks.h"
#include "heap/other_mappings.h"
#include "heap/taken_at.h"
#include "heap/thread_cache.h"

namespace fgmpi::heap {

namespace {
const void* const g_nobody = nullptr;
}
constinit HeapProcess g_process = {{&g_nobody, 0, 0, nullptr, nullptr, nullptr, 0, 0, 0, 1, false,
                                    0, 0, 0, false, nullptr, nullptr, nullptr, nullptr},
                                   {},
                                   {},
                                   false,
                                   false,
                                   false,
                                   0};
[[gnu::tls_model("initial-exec")]] thread_local constinit bool t_schedules_alone = false;
[[gnu::tls_model("initial-exec")]] thread_local constinit bool t_schedules = false;
[[gnu::tls_model("initial-exec")]] thread_local constinit int t_for_rank = 0;

bool is_rank_with_threads(uint32_t* index) {
  if (!g_process.threads || on_host_stack()) return false;
  const int64_t rank = g_process.ranks.rank_of_thread();
  *index = static_cast<uint32_t>(rank);
  return rank >= 0 && *index < g_process.ranks.ranks;
}

HeapUser::HeapUser(uint32_t index)
    : heap_(RankHeap::at(g_process.slots.of_rank(index))), locked_(g_process.threads) {
  if (locked_) heap_->lock().lock();
  heap_at(index);
}

void* refuse(uint32_t index, size_t bytes) {
  errno = ENOMEM;
  if (!g_process.ranks.refused) return nullptr;
  Ranks::TakingPlace most[kMostTakingPlaces] = {};
  const size_t count = most_taken_at(index, most);
  g_process.ranks.refused(index, bytes, heap_at(index)->taken(), most, count);
  return nullptr;
}

// ---- For the library ----------------------------------------------------------------------------

namespace {

/// The heap of the calling thread's rank, which a fork must not leave locked.
RankHeap* g_forking = nullptr;
/// Between begin_fork() and end_fork(), which lock the heap instead.
[[gnu::tls_model("initial-exec")]] thread_local constinit bool t_forks = false;

void begin_threads() {
  if (g_process.threads || !g_process.slots.bytes) return;
  g_process.threads = true;
  t_schedules_alone = false;
  begin_thread_caches();
  pthread_atfork(
      [] {
        uint32_t index;
        if (t_forks) return;
        g_forking = is_rank_with_threads(&index) ? heap_at(index) : nullptr;
        if (g_forking) g_forking->lock().lock();
      },
      [] {
        if (g_forking) g_forking->lock().unlock();
      },
      [] {
        if (g_forking) g_forking->lock().unlock();
      });
}

void begin_fork(uint32_t index) {
  t_forks = true;
  g_forking = nullptr;
  if (g_process.threads) heap_at(index)->lock().lock();
}

void end_fork(uint32_t index) {
  if (g_process.threads) heap_at(index)->lock().unlock();
  t_forks = false;
}

const char* attach(const Ranks& ranks, SlotPlaces* places) {
  static char words[512];
  Slots slots;
  Status placed = slots.place(ranks);
  if (placed.ok()) placed = slots.map();
  if (!placed.ok()) {
    snprintf(words, sizeof words, "%s", placed.what().c_str());
    return words;
  }
  g_process.counts = ranks.limit && begin_taken_at();
  g_process.slots = slots;
  g_process.ranks = ranks;
  if (ranks.in_file) g_process.ranks.ranks = static_cast<uint32_t>(ranks.total);
  // Behind the last frame are arguments and the environment, which are less than this.
  g_process.host_stack_end =
      reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) + (uintptr_t{16} << 20);
  t_schedules_alone = t_schedules = true;
  if (ranks.records_blocks) begin_threads();  // the ways that record
  *places = slots.places;
  places->slots = slots.slot_of(slots.own_first);
  return nullptr;
}

/// nullptr: the rank has no heap.
RankHeap* heap_of(uint32_t index) {
  if (!g_process.slots.bytes || index >= g_process.ranks.ranks) return nullptr;
  RankHeap* heap = RankHeap::at(g_process.slots.of_rank(index));
  return heap->exists() ? heap : nullptr;
}

HeapUse use_of(uint32_t index) {
  const RankHeap* heap = heap_of(index);
  return heap ? heap->use() : HeapUse();
}

uint64_t taken_of(uint32_t index) {
  const RankHeap* heap = heap_of(index);
  return heap ? heap->taken() : 0;
}

bool add_slots(uint32_t count) {
  if (!g_process.slots.bytes || !g_process.slots.extend(count)) return false;
  g_process.ranks.ranks = std::max(g_process.ranks.ranks, count);
  return true;
}

void rank_ends(uint32_t index) {
  forget_last_cache();
  end_other_mappings(index);
  RankHeap* heap = heap_of(index);
  if (!heap) return;
  const bool mapped = heap->mappings().any();
  const size_t first = heap->mappings().first(), bytes = g_process.slots.heap_bytes();
  if (mapped) reset_mappings(heap, first, page_down(bytes) - first);
  g_process.slots.drop(heap, bytes);
}

HeapsTable table() {
  const Slots& slots = g_process.slots;
  if (!slots.in_files) return {2, slots.first, slots.stride(), g_process.ranks.ranks};
  const auto first = reinterpret_cast<uintptr_t>(slots.slot_of(slots.own_first));
  return {2, first + slots.places.heap, slots.stride(), slots.own_count};
}

void* allocate_for(uint32_t index, size_t bytes) {
  if (!g_process.slots.bytes || index >= g_process.ranks.ranks) return __libc_malloc(bytes);
  const HeapUser user(index);
  void* block = user.heap()->allocate(bytes);
  return block ? block : refuse(index, bytes);
}

void find_leaks_of(uint32_t index, const MemoryRange* roots, size_t count,
                   void (*visit)(const LeakedBlocks& leak, void* data), void* data) {
  RankHeap* heap = g_process.ranks.records_blocks ? heap_of(index) : nullptr;
  if (!heap) return;
  std::vector<MemoryRange> all(roots, roots + count);
  WrittenPages pages;  // a program may have mapped far more than it uses
  heap->mappings().visit([&](size_t first, size_t end) {
    const MemoryRange whole{heap->address_of(first), heap->address_of(end)};
    const bool known =
        pages.visit(reinterpret_cast<uintptr_t>(whole.low), reinterpret_cast<uintptr_t>(whole.high),
                    [&](uintptr_t low, uintptr_t high) {
                      all.push_back({reinterpret_cast<char*>(low), reinterpret_cast<char*>(high)});
                    });
    if (!known) all.push_back(whole);
  });
  const auto low = reinterpret_cast<uintptr_t>(heap);
  for (const LeakedBlocks& leak :
       find_leaks(low, low + g_process.slots.heap_bytes(), all.data(), all.size()))
    visit(leak, data);
}

int64_t owner_of(const void* address) { return g_process.slots.owner_of(address); }

void visit_memory_of(uint32_t index,
                     void (*visit)(const MemoryRange& range, bool is_mapping, void* data),
                     void* data) {
  RankHeap* heap = heap_of(index);
  if (!heap) return;
  heap->visit_memory([&](size_t first, size_t end, bool is_mapping) {
    visit({heap->address_of(first), heap->address_of(end)}, is_mapping, data);
  });
}

int64_t rank_for(const void* place) {
  uint32_t index;
  return finds_rank(&index, place) ? int64_t{index} : -1;
}

void* map_pages_of(uint32_t index, size_t bytes, size_t alignment) {
  if (!g_process.slots.bytes || index >= g_process.ranks.ranks) return nullptr;
  const HeapUser user(index);
  RankHeap* heap = user.heap();
  const size_t page = page_bytes(), spare = alignment > page ? alignment - page : 0;
  const size_t got = heap->mappings().take(heap, bytes + spare, false);
  if (!got) return nullptr;
  const auto from = reinterpret_cast<uintptr_t>(heap->address_of(got));
  const size_t before = page_up(from, alignment) - from;
  if (before) heap->mappings().give_up(heap, got, before);
  if (spare > before) heap->mappings().give_up(heap, got + before + bytes, spare - before);
  return heap->address_of(got + before);
}

void unmap_pages_of(uint32_t index, void* at, size_t bytes) {
  const HeapUser user(index);
  RankHeap* heap = user.heap();
  heap->mappings().give_up(heap, heap->offset_of(at), bytes);
  reset_mappings(heap, heap->offset_of(at), bytes);
}

constexpr HeapHooks kHooks = {attach,
                              use_of,
                              taken_of,
                              begin_threads,
                              add_slots,
                              rank_ends,
                              table,
                              allocate_for,
                              find_leaks_of,
                              owner_of,
                              visit_memory_of,
                              rank_for,
                              [] { ++t_for_rank; },
                              [] { --t_for_rank; },
                              map_pages_of,
                              unmap_pages_of,
                              find_other_mapping,
                              add_other_mapping,
                              [](int file, uint64_t first, uint32_t count) {
                                return g_process.slots.map_others(file, first, count);
                              },
                              [](uint32_t index) {
                                const RankHeap* heap = heap_of(index);
                                return heap && heap->is_protected();
                              },
                              begin_fork,
                              end_fork};

}  // namespace
}  // namespace fgmpi::heap

extern "C" __attribute__((visibility("default"))) const fgmpi::heap::HeapHooks* fgmpi_heap_hooks() {
  return &fgmpi::heap::kHooks;
}
