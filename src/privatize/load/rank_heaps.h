// Heaps of ranks (FGMPI_HEAP=rank): libfgmpi-heap.so, which mpiexec preloads, takes the memory that
// programs allocate from a slot of their rank.
//
// Thread rule: the scheduler's thread. Nothing switches.
#pragma once

#include <cstdint>

#include "base/heap_link.h"
#include "base/status.h"

namespace fgmpi::privatize {

/// Gives each of the process's ranks a heap, if that is wanted. Called once, before ranks run.
/// Error: they cannot have one; the text says why.
Status begin_rank_heaps(uint32_t ranks);
/// True where ranks have heaps.
bool ranks_have_heaps();
/// What the rank of this process has; zero where ranks have no heaps.
heap::HeapUse heap_use_of(uint32_t index);
/// The rank of this process in whose slot the address is, or -1. Any thread.
int64_t heap_owner_of(const void* address);
/// The rank has ended, and no code of its program runs any more: its memory is given back.
void end_rank_heap(uint32_t index);

}  // namespace fgmpi::privatize
