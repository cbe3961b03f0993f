// The slots of a job's ranks: one range of addresses for each rank, which no other rank of the job
// has, whatever process it is in.
//
//   kFirst + world rank * stride
//
//   slot   | guard | stack | image of the program and libraries |  heap                    |
//          0               stacks_end, images                   heap                    stride
//
// The stride is no power of two. Else the entries of all ranks in page tables, and in the caches
// for translations of addresses, would be in the same few sets: a message between two of 100 ranks
// would take twice as long.
//
// The heap begins close behind the image, and that behind the stack: most ranks that use little
// have one page of page tables for all three. The guard at the start ends the stack, and the heap
// of the rank before.
//
// The region is above the program, which the kernel loads at the bottom or near 0x55..., and below
// its libraries, near 0x7f.... Its addresses depend on the numbers of the job alone.
//
// Where ranks may go from one process of a host to another, the slots of a process are shared
// memory in a file without a name, and a Slots has those of the whole job: numbers of ranks are
// world ranks then. Slots of other processes are mapped when they are needed, at the same
// addresses. Only pages that are touched cost memory, as in private memory. Differences: pages go
// back to the system by MADV_REMOVE, and the child of a fork does not get a copy. So the slots of
// such a job cannot be saved by a fork (src/checkpoint).
//
//   file of process p    | slot of its first rank | slot of its second rank | ...
//   offset in the file   0                        stride
//
// Thread rule: place() once, before ranks run; the rest by any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/heap_link.h"
#include "base/page.h"
#include "base/status.h"

namespace fgmpi::heap {

/// The region of all slots of a job: 32 TiB from 16 TiB on.
constexpr uintptr_t kFirst = uintptr_t{1} << 44;
constexpr size_t kAll = size_t{1} << 45;
/// Slots that are added may lie up to here.
constexpr uintptr_t kAddedEnd = uintptr_t{80} << 40;
/// A slot has at least 1 MiB, and at most 256 GiB and a part of that.
constexpr unsigned kLeastShift = 20, kMostShift = 38;
/// The part before the end of the stack is an eighth of the slot, at most so much: the largest
/// FGMPI_STACK_SIZE and some room.
constexpr size_t kMostBeforeStacksEnd = size_t{3} << 29;

struct Slots {
  uintptr_t first = kFirst;  ///< the heap of the first rank
  size_t bytes = 0;          ///< from there to the end of the last heap; 0: there are none
  size_t all = 0;            ///< bytes of all slots: of this process, or of the job (in a file)
  unsigned shift = 0;        ///< a slot has 1 << shift bytes, and a part of that more
  uint64_t inverse = 0;      ///< of the stride, see number_of()
  SlotPlaces places;
  /// The slots that this process has made: the number of the first, and how many.
  uint64_t own_first = 0;
  uint32_t own_count = 0;
  size_t in_files = 0;  ///< bytes of the slots that are in files; those that are added are not

  /// True for addresses of heaps, and of what lies between them.
  bool has(const void* p) const { return reinterpret_cast<uintptr_t>(p) - first < bytes; }
  /// True for addresses in slots.
  bool holds(const void* p) const {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(places.slots) < all;
  }
  /// The heap of a rank.
  char* of_rank(uint32_t index) const { return reinterpret_cast<char*>(first + index * stride()); }
  /// The slot of a rank.
  char* slot_of(uint64_t number) const { return places.slots + number * stride(); }
  uint32_t rank_of(const void* p) const {
    return number_of(reinterpret_cast<uintptr_t>(p) - first);
  }
  size_t stride() const { return places.stride; }
  /// Bytes of a heap, which ends with its slot.
  size_t heap_bytes() const { return stride() - places.heap; }
  /// Up to half of a slot is for small blocks, the rest for others (rank_heap.h).
  size_t half() const { return size_t{1} << (shift - 1); }
  size_t offset_of(const void* p) const {
    return reinterpret_cast<uintptr_t>(p) - first - rank_of(p) * stride();
  }
  /// The rank in whose slot the address is, or -1.
  int64_t owner_of(const void* p) const;

  /// Divides by the stride. With x and d, both numbers in units of 4 KiB, `inverse` is 2^64 / d,
  /// rounded up: the error of x * inverse / 2^64 is below 1 / d, as x * d < 2^64.
  uint32_t number_of(size_t bytes_from_start) const {
    constexpr int kUnit = 12;
    return static_cast<uint32_t>(
        static_cast<unsigned __int128>(bytes_from_start >> kUnit) * inverse >> 64);
  }
  void set_stride(size_t bytes) {
    places.stride = bytes;
    inverse = ~uint64_t{0} / (bytes >> 12) + 1;
  }

  /// Computes the slots of a process. Error: so many ranks, or images of that size, have no room.
  Status place(const Ranks& ranks);
  /// Maps them: readable and writable, no memory yet. Error: the system has no such addresses, or
  /// refuses them.
  Status map();
  /// Maps slots that another process has made (HeapHooks::map_slots). REQUIRES: slots are in files.
  bool map_others(int file, uint64_t number, uint32_t count) const;
  /// True for addresses in slots that are in files.
  bool is_in_file(const void* p) const {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(places.slots) < in_files;
  }
  /// Gives whole pages of a slot back to the system.
  bool drop(void* from, size_t size) const { return drop_pages(from, size, is_in_file(from)); }
  /// Adds mapped slots, so that there are `count`. Returns false, with nothing changed, where the
  /// system has no such addresses. REQUIRES: map() was called.
  bool extend(uint32_t count);

 private:
  Status map_in_file();
};

}  // namespace fgmpi::heap
