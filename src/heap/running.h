// Which rank's heap a call is about: what the interposed functions share.
//
// On the scheduler's thread, while no rank has threads, the running rank's heap is used as it is.
// Once ranks have threads, every thread asks the library to which rank it belongs, and locks the
// heap. Threads of no rank, and code on the stack with which the process began, where the MPI
// library calls the hosted MPICH, use the C library's memory.
//
// Thread rule: any thread. Nothing here switches.
#pragma once

#include "base/heap_link.h"
#include "heap/callers.h"
#include "heap/rank_heap.h"

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* block);
}

namespace fgmpi::heap {

struct HeapProcess {
  Ranks ranks;
  Slots slots;
  Callers callers;
  bool threads = false;  ///< ranks have, or have had, threads
  bool caches = false;   ///< threads have caches (thread_cache.h)
  bool counts = false;   ///< there is a limit: the places that take memory are counted (taken_at.h)
  /// The scheduler's thread began with this stack. Nothing else is mapped so near below it.
  uintptr_t host_stack_end = 0;
};
extern constinit HeapProcess g_process;
/// True on the scheduler's thread while no rank has had threads.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit bool t_schedules_alone;

constexpr uintptr_t kMostHostStack = uintptr_t{96} << 20;
[[gnu::always_inline]] inline bool on_host_stack() {
  return g_process.host_stack_end - reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) <
         kMostHostStack;
}

/// True on the scheduler's thread, except in the child of a fork by another thread.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit bool t_schedules;

/// Finds the running rank, where this is the scheduler's thread and no rank has threads.
[[gnu::always_inline]] inline bool is_rank_alone(uint32_t* index) {
  if (!t_schedules_alone || on_host_stack()) return false;
  const Ranks& ranks = g_process.ranks;
  const auto* running = static_cast<const char*>(*ranks.running);
  if (!running || running[ranks.kind_at] != 0) return false;
  *index = *reinterpret_cast<const uint32_t*>(running + ranks.index_at);
  return *index < ranks.ranks;
}

/// Finds the rank of the calling thread, where ranks have threads.
bool is_rank_with_threads(uint32_t* index);

/// The heap of a rank of this process, which is made by its first use.
[[gnu::always_inline]] inline RankHeap* heap_at(uint32_t index) {
  RankHeap* heap = RankHeap::at(g_process.slots.of_rank(index));
  if (!heap->exists()) [[unlikely]]
    heap->begin(g_process.slots, g_process.ranks.limit);
  return heap;
}

/// Locks the heap of a rank where ranks have threads.
class HeapUser {
 public:
  explicit HeapUser(uint32_t index);
  ~HeapUser() {
    if (locked_) heap_->lock().unlock();
  }
  HeapUser(const HeapUser&) = delete;
  HeapUser& operator=(const HeapUser&) = delete;
  RankHeap* heap() const { return heap_; }

 private:
  RankHeap* heap_;
  bool locked_;
};

/// How many calls are under way in which the C library allocates for the rank that calls it.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit int t_for_rank;

/// Does code at this place allocate for its rank? Code in slots are images of programs.
[[gnu::always_inline]] inline bool is_for_rank(const void* place) {
  return g_process.slots.holds(place) || g_process.callers.is_for_rank(place) || t_for_rank > 0;
}

/// Finds the rank for which code at this place allocates; false: the memory is the process's.
inline bool finds_rank(uint32_t* index, const void* place) {
  return (is_rank_alone(index) || is_rank_with_threads(index)) && is_for_rank(place);
}

/// Says that the rank has no more memory. Returns a null pointer, with errno.
[[gnu::cold]] void* refuse(uint32_t index, size_t bytes);

}  // namespace fgmpi::heap
