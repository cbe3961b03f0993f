// Heaps of ranks (FGMPI_HEAP=rank): libfgmpi-heap.so, which mpiexec preloads, takes the memory that
// programs allocate from a slot of their rank.
//
// Thread rule: the scheduler's thread. Nothing switches.
#pragma once

#include <cstdint>
#include <vector>

#include "base/heap_link.h"
#include "base/status.h"
#include "proclet-sched/sched.h"

namespace fgmpi::privatize {

/// True where the settings ask for heaps of ranks; before the settings are read, where the
/// environment does.
bool rank_heaps_are_wanted();
bool rank_heaps_are_named();
/// True where those slots are in memory files, so that ranks can go to other processes of the host.
bool rank_slots_are_files();
/// Gives each of the process's ranks a slot for its stack, image and heap. The stack ends with a
/// record of so many bytes (slot_record.h). Called once, before ranks run. Error: they cannot have
/// one; the text says why.
Status begin_rank_heaps(uint32_t ranks, size_t record_bytes);
/// Checks what begin_rank_heaps() has presumed, once it is known. Error: this process or another
/// one has other ranks than presumed.
Status check_rank_heaps(uint64_t first, uint64_t total);
/// Memory in the heap of the rank in whose slot the object lies, if it lies in one, else in that of
/// the process. nullptr: there is none. Any thread. free() gives it back.
void* allocate_in_slot_of(const void* object, size_t bytes);
/// Pages of the rank's slot for an image of a library (HeapHooks::map_pages). nullptr: they cannot
/// be had there. Any thread.
void* map_in_slot(uint32_t index, size_t bytes, size_t alignment);
/// Gives them back. Any thread.
void unmap_in_slot(uint32_t index, void* at, size_t bytes);
/// Finds the first mapping of the rank behind the address that is of a file, shared, or outside of
/// its slot. False: there is none. Any thread.
bool find_other_mapping(uint32_t index, const void* from, heap::MemoryRange* range);
/// Whole pages are mapped so for the rank.
void add_other_mapping(uint32_t index, const void* at, size_t bytes);
/// Called when a rank is about to start a thread.
void begin_threads_of_heaps();
/// True where ranks have heaps.
bool ranks_have_heaps();
/// What the rank of this process has; zero where ranks have no heaps.
heap::HeapUse heap_use_of(uint32_t index);
/// Calls visit for each place from which the rank has leaked blocks (HeapHooks::find_leaks).
void visit_leaks_of(uint32_t index, const std::vector<heap::MemoryRange>& roots,
                    void (*visit)(const heap::LeakedBlocks& leak));
/// The rank in whose slot the address lies; -1: it lies in none. Any thread.
int64_t rank_of_slot(const void* address);
/// The rank for which code at this place allocates on the calling thread; -1: for the process. Any
/// thread.
int64_t rank_for(const void* place);
/// While it lives, what the C library allocates on the calling thread is the rank's. Nothing may
/// switch meanwhile. REQUIRES: ranks have heaps.
class MemoryForRank {
 public:
  MemoryForRank();
  ~MemoryForRank();
  MemoryForRank(const MemoryForRank&) = delete;
  MemoryForRank& operator=(const MemoryForRank&) = delete;
};
/// Where the slots of this process are. REQUIRES: ranks_have_heaps().
const heap::SlotPlaces& slot_places();
/// The slot of a rank. REQUIRES: ranks_have_heaps().
char* slot_of_rank(uint32_t index);
/// A rank that has come from another process: from now on, the rank `index` has the slot of the
/// world rank. Forgotten by the second function.
void add_slot_of_visitor(uint32_t index, uint64_t world_rank);
void forget_slot_of_visitor(uint32_t index);
/// Maps slots of another process (HeapHooks::map_slots).
bool map_slots_of_process(int file, uint64_t first, uint32_t count);
/// False for a rank that was added while the job ran, too.
bool has_slot_in_file(uint32_t index);
/// Around a fork whose child copies the slot (HeapHooks::begin_fork).
void lock_heap_for_fork(const sched::Proclet* rank);
void unlock_heap_after_fork(const sched::Proclet* rank);
/// Has the rank asked for a protection of memory in its slot (HeapHooks::is_protected)?
bool has_protected_memory(uint32_t index);
/// Calls visit(range, is_mapping, data) for all memory of the rank's heap
/// (HeapHooks::visit_memory).
void visit_heap_memory(uint32_t index,
                       void (*visit)(const heap::MemoryRange& range, bool is_mapping, void* data),
                       void* data);
/// The rank of this process whose heap ends closely before the address, or -1. Any thread.
int64_t rank_of_heap_end(const void* address);
/// The rank has ended, and no code of its program runs any more: its memory is given back.
void end_rank_heap(uint32_t index);

}  // namespace fgmpi::privatize
