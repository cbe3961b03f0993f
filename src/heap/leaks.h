// Leaks of a rank: blocks in its heap to which no pointer leads, neither from its variables, its
// stack and its libraries, nor from other blocks that are not leaked. Words that look like a
// pointer into a block count as one: a leak may be missed, but what is reported is one, unless the
// program hides its pointers, or the C library holds the only one in memory that it has allocated.
//
// Source: as LeakSanitizer and Boehm's collector mark what is reachable. Thread rule: the
// scheduler's thread, while no thread of the rank runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/heap_link.h"

namespace fgmpi::heap {

/// The leaks in the heap that lies in [low, high), by place, the largest first.
std::vector<LeakedBlocks> find_leaks(uintptr_t low, uintptr_t high, const MemoryRange* roots,
                                     size_t count);

}  // namespace fgmpi::heap
