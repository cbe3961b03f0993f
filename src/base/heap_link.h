// What the library (libmpich) and libfgmpi-heap.so, which is preloaded in front of it, say to each
// other. Both are of one build.
//
// Thread rule: the scheduler's thread, except where said.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::heap {

/// What the library says when it starts, before ranks run.
struct Ranks {
  /// Where the running proclet is named: a pointer to an object in which, at `index_at`, is the
  /// number of the rank in this process (uint32_t), and at `kind_at` a byte that is 0 for a rank.
  const void* const* running;
  size_t index_at, kind_at;
  uint32_t ranks;               ///< of this process
  uint32_t process, processes;  ///< of the job
  uint64_t limit;               ///< bytes that a rank may have; 0: no limit
  /// A rank has asked for more than its limit or its slot allows. Ends the job, or returns: then
  /// the call returns a null pointer. `sites`: the places that have taken most, and their bytes.
  struct TakingPlace {
    const void* place;
    uint64_t bytes;
  };
  void (*refused)(uint32_t index, uint64_t bytes, uint64_t taken, const TakingPlace* sites,
                  size_t count);
};

/// What a rank's heap holds, in bytes.
struct HeapUse {
  uint64_t in_use = 0;  ///< blocks that the program has
  uint64_t taken = 0;   ///< memory taken from the slot for them
  uint64_t most = 0;    ///< the most `taken` so far
};

/// Where fgmpi-info finds the heaps in the memory of a process: exported as fgmpi_heap_table.
/// The heap of rank i is at first + (i << shift); the words there are in rank_heap.h.
struct HeapsTable {
  uint64_t version = 1;
  uint64_t first = 0, shift = 0, ranks = 0;  ///< ranks 0: they have no heaps
};

struct HeapHooks {
  /// nullptr, or why ranks cannot have heaps (a line for the user).
  const char* (*attach)(const Ranks& ranks);
  HeapUse (*use_of)(uint32_t index);
  /// The rank has ended, and its stack is gone: all its memory goes back to the system.
  void (*rank_ends)(uint32_t index);
  HeapsTable (*table)();
  /// The rank in whose slot the address is, or -1. Any thread.
  int64_t (*owner_of)(const void* address);
};

}  // namespace fgmpi::heap

extern "C" __attribute__((visibility("default"))) fgmpi::heap::HeapsTable fgmpi_heap_table;
/// Defined by libfgmpi-heap.so.
extern "C" __attribute__((visibility("default"))) const fgmpi::heap::HeapHooks* fgmpi_heap_hooks();
