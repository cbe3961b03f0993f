// What the library (libmpich) and libfgmpi-heap.so, which is preloaded in front of it, say to each
// other. Both are of one build.
//
// Thread rule: the scheduler's thread, except where said.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::heap {

/// What the library says when it starts, before ranks run.
///
/// Numbers of ranks are those of slots: the rank's number in this process, or, where slots are
/// `in_file`, its world rank. Then any rank of the host may come into this process.
struct Ranks {
  /// Where the running proclet is named: a pointer to an object in which, at `index_at`, is the
  /// number of the rank (uint32_t), and at `kind_at` a byte that is 0 for a rank.
  const void* const* running;
  size_t index_at, kind_at;
  /// Once *threads_enabled, the scheduler's thread is outside of the library while its `*inside` is
  /// 0. Then the running proclet is named at `outside_at` in the object to which *user points.
  const bool* threads_enabled;
  const uint8_t* inside;
  const void* const* user;
  size_t outside_at;
  uint32_t ranks;         ///< of this process
  uint64_t first, total;  ///< world rank of the first of them; ranks of the job
  /// The slots of this process are in a memory file, which other processes of the host can map; a
  /// fork does not copy them. Slots that are added are private memory; their numbers begin behind
  /// those of the job's ranks.
  bool in_file;
  /// Addresses that each rank's image of the program and its libraries takes; 0: there are none.
  size_t image_bytes, image_alignment;
  uint64_t limit;       ///< bytes that a rank may have; 0: no limit
  bool records_blocks;  ///< for find_leaks(): where each block was allocated
  /// The number of the rank to which the calling thread belongs; -1: it belongs to none. Any
  /// thread.
  int64_t (*rank_of_thread)();
  /// Is the code at this place of the C, C++ or Fortran library, of MPI, or of a function in one of
  /// their headers? Then users want to know which code has called it. Any thread.
  bool (*is_library_code)(const void* place);
  /// A rank has asked for more than its limit or its slot allows. Ends the job, or returns: then
  /// the call returns a null pointer. `sites`: the places that have taken most, and their bytes.
  struct TakingPlace {
    const void* place;
    uint64_t bytes;
  };
  void (*refused)(uint32_t index, uint64_t bytes, uint64_t taken, const TakingPlace* sites,
                  size_t count);
  /// The program of the running rank is about to have memory that only this process would have: of
  /// a file, shared, outside of its slot, or with a protection. A rank that is away from its home
  /// goes there before; false: it cannot, and the call has to fail. Null where ranks stay. May
  /// switch.
  bool (*bring_home)();
};

/// Where the parts of a rank's slot are, in bytes from its start; a page or more at the start is a
/// guard or not used.
struct SlotPlaces {
  char* slots = nullptr;  ///< the slot of this process's first rank; the others follow
  size_t stride = 0;      ///< of a slot
  size_t stacks_end = 0;  ///< the stack ends here
  size_t images = 0;      ///< the image begins here, on the alignment that it needs
  size_t heap = 0;        ///< the heap takes the rest
  int file = -1;          ///< the memory file of this process's slots; -1: they are private memory
};

/// What a rank's heap holds, in bytes.
struct HeapUse {
  uint64_t in_use = 0;  ///< blocks that the program has
  uint64_t taken = 0;   ///< memory taken from the slot for them
  uint64_t most = 0;    ///< the most `taken` so far
};

/// Where fgmpi-info finds the heaps in the memory of a process: exported as fgmpi_heap_table.
/// The heap of rank i is at first + i * stride; the words there are in rank_heap.h.
struct HeapsTable {
  uint64_t version = 2;
  uint64_t first = 0, stride = 0, ranks = 0;  ///< ranks 0: they have no heaps
};

struct MemoryRange {
  const char *low = nullptr, *high = nullptr;
};

/// Blocks of a rank to which no pointer leads any more, by the place where they were allocated.
struct LeakedBlocks {
  const void* place = nullptr;  ///< the address to which the call returned
  uint64_t blocks = 0, bytes = 0;
};

struct HeapHooks {
  /// nullptr, or why ranks cannot have heaps (a line for the user). Maps the slots: readable and
  /// writable, without guards.
  const char* (*attach)(const Ranks& ranks, SlotPlaces* places);
  HeapUse (*use_of)(uint32_t index);
  /// HeapUse::taken alone, at once. Any thread.
  uint64_t (*taken_of)(uint32_t index);
  /// A rank is about to start its first thread: heaps are locked from now on.
  void (*begin_threads)();
  /// Ranks up to number `count` - 1 of this process have slots from now on, too, behind those of
  /// its ranks: for programs that join the process. Returns false where there are no addresses for
  /// that many.
  bool (*add_slots)(uint32_t count);
  /// The rank has ended, and its stack is gone: all its memory goes back to the system.
  void (*rank_ends)(uint32_t index);
  HeapsTable (*table)();
  /// A block of the rank's, for which the library asks in the place of its program; or nullptr.
  void* (*allocate)(uint32_t index, size_t bytes);
  /// Calls visit(leak, data) for each place from which blocks are leaked: no pointer leads to them
  /// from the roots, nor from the rank's mappings. None where blocks are not recorded.
  void (*find_leaks)(uint32_t index, const MemoryRange* roots, size_t count,
                     void (*visit)(const LeakedBlocks& leak, void* data), void* data);
  /// The rank in whose slot the address is, or -1. Any thread.
  int64_t (*owner_of)(const void* address);
  /// Calls visit(range, is_mapping, data) for all memory that the rank's heap has ever given to its
  /// program, and its own state: whole pages, in ascending order.
  void (*visit_memory)(uint32_t index,
                       void (*visit)(const MemoryRange& range, bool is_mapping, void* data),
                       void* data);
  /// The rank for which code at this place allocates on the calling thread; -1: for the process.
  /// Any thread.
  int64_t (*rank_for)(const void* place);
  /// Between the two calls, which may be nested, what the C library allocates on the calling thread
  /// is the rank's. Any thread; nothing in between may switch.
  void (*begin_for_rank)();
  void (*end_for_rank)();
  /// Zero pages of the rank's slot, readable and writable, for an image of a library that its
  /// program loads; not counted as what the rank has taken. nullptr: there is no slot, or no room
  /// in it. Any thread.
  void* (*map_pages)(uint32_t index, size_t bytes, size_t alignment);
  /// Gives such pages back, however they are mapped by now. Any thread.
  void (*unmap_pages)(uint32_t index, void* at, size_t bytes);
  /// Finds the first mapping of the rank behind the address that is of a file, shared, or outside
  /// of its slot. False: there is none. Any thread.
  bool (*find_other_mapping)(uint32_t index, const void* from, MemoryRange* range);
  /// Whole pages are mapped so for the rank. Any thread.
  void (*add_other_mapping)(uint32_t index, const void* at, size_t bytes);
  /// Maps the slots first .. first + count - 1 from the memory file of the process that has made
  /// them. Returns false, with errno, where the system refuses it. REQUIRES: Ranks::in_file, and
  /// the slots are not mapped here.
  bool (*map_slots)(int file, uint64_t first, uint32_t count);
  /// Has the rank ever asked for a protection of memory in its slot, where slots are in a file?
  bool (*is_protected)(uint32_t index);
  /// Around a fork of the rank by whose child the slot is copied: in between, the heap is locked.
  void (*begin_fork)(uint32_t index);
  void (*end_fork)(uint32_t index);
};

}  // namespace fgmpi::heap

extern "C" __attribute__((visibility("default"))) fgmpi::heap::HeapsTable fgmpi_heap_table;
/// Defined by libfgmpi-heap.so.
extern "C" __attribute__((visibility("default"))) const fgmpi::heap::HeapHooks* fgmpi_heap_hooks();
