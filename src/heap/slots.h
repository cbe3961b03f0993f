// The slots of a job's ranks: one range of addresses for each rank, which no other rank of the job
// has, whatever process it is in.
//
//   kFirst + (world rank << shift)
//
//   slot   | guard | stack | image of the program and libraries |  heap                    |
//          0               stacks_end, images                   heap                 1 << shift
//
// The stack ends 64 KiB behind a multiple of 2 MiB, and the heap begins close behind the image: a
// rank that uses little has one page of page tables for all three. The guard at the start ends the
// stack, and the heap of the rank before.
//
// The region is above the program, which the kernel loads at the bottom or near 0x55..., and below
// its libraries, near 0x7f.... Its addresses depend on the numbers of the job alone.
//
// Thread rule: place() once, before ranks run; the rest by any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/heap_link.h"
#include "base/status.h"

namespace fgmpi::heap {

/// The region of all slots of a job: 32 TiB from 16 TiB on.
constexpr uintptr_t kFirst = uintptr_t{1} << 44;
constexpr size_t kAll = size_t{1} << 45;
/// Slots that are added may lie up to here.
constexpr uintptr_t kAddedEnd = uintptr_t{80} << 40;
/// A slot has at least 1 MiB and at most 256 GiB, a power of two.
constexpr unsigned kLeastShift = 20, kMostShift = 38;
/// The part before the end of the stack is an eighth of the slot, at most so much: the largest
/// FGMPI_STACK_SIZE and some room.
constexpr size_t kMostBeforeStacksEnd = size_t{3} << 29;

struct Slots {
  uintptr_t first = kFirst;  ///< the heap of the first rank of this process
  size_t bytes = 0;          ///< from there to the end of the last heap; 0: there are none
  size_t all = 0;            ///< bytes of all slots of this process
  unsigned shift = 0;        ///< a slot has 1 << shift bytes
  SlotPlaces places;

  /// True for addresses of heaps, and of what lies between them.
  bool has(const void* p) const { return reinterpret_cast<uintptr_t>(p) - first < bytes; }
  /// True for addresses in slots of this process.
  bool holds(const void* p) const {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(places.slots) < all;
  }
  /// The heap of a rank of this process.
  char* of_rank(uint32_t index) const {
    return reinterpret_cast<char*>(first + (size_t{index} << shift));
  }
  uint32_t rank_of(const void* p) const {
    return static_cast<uint32_t>((reinterpret_cast<uintptr_t>(p) - first) >> shift);
  }
  size_t stride() const { return size_t{1} << shift; }
  /// Bytes of a heap, which ends with its slot.
  size_t heap_bytes() const { return stride() - places.heap; }
  /// Up to half of a slot is for small blocks, the rest for others (rank_heap.h).
  size_t half() const { return size_t{1} << (shift - 1); }
  size_t offset_of(const void* p) const {
    return (reinterpret_cast<uintptr_t>(p) - first) & (stride() - 1);
  }
  /// The rank of this process in whose slot the address is, or -1.
  int64_t owner_of(const void* p) const;

  /// Computes the slots of a process. Error: so many ranks, or images of that size, have no room.
  Status place(const Ranks& ranks);
  /// Maps them: readable and writable, no memory yet. Error: the system has no such addresses, or
  /// refuses them.
  Status map() const;
  /// Adds mapped slots, so that there are `count`. Returns false, with nothing changed, where the
  /// system has no such addresses. REQUIRES: map() was called.
  bool extend(uint32_t count);
};

}  // namespace fgmpi::heap
