// The slots of a job's ranks: one range of addresses for each rank, which no other rank of the job
// has, whatever process it is in.
//
//   kFirst + process * (all / processes) + rank of the process << shift
//
// The region is above the program, which the kernel loads at the bottom or near 0x55..., and below
// its libraries, near 0x7f.... Its addresses depend on the numbers of the job alone.
//
// Thread rule: place() once, before ranks run; the rest by any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace fgmpi::heap {

/// The region of all slots of a job: 32 TiB from 16 TiB on.
constexpr uintptr_t kFirst = uintptr_t{1} << 44;
constexpr size_t kAll = size_t{1} << 45;
/// A slot has at least 1 MiB and at most 64 GiB, a power of two.
constexpr unsigned kLeastShift = 20, kMostShift = 36;

struct Slots {
  uintptr_t first = kFirst;  ///< the slot of the first rank of this process
  size_t bytes = 0;          ///< of the slots of this process; 0: there are none
  unsigned shift = 0;        ///< a slot has 1 << shift bytes

  bool has(const void* p) const { return reinterpret_cast<uintptr_t>(p) - first < bytes; }
  char* of_rank(uint32_t index) const {
    return reinterpret_cast<char*>(first + (size_t{index} << shift));
  }
  uint32_t rank_of(const void* p) const {
    return static_cast<uint32_t>((reinterpret_cast<uintptr_t>(p) - first) >> shift);
  }
  /// Half of a slot is for small blocks, half for large ones (rank_heap.h).
  size_t half() const { return size_t{1} << (shift - 1); }
  size_t offset_of(const void* p) const {
    return (reinterpret_cast<uintptr_t>(p) - first) & ((size_t{1} << shift) - 1);
  }

  /// Computes the slots of a process. Error: so many ranks and processes have no room.
  Status place(uint32_t process, uint32_t processes, uint32_t ranks);
  /// Maps them: readable and writable, no memory yet. Where ranks are few, the last page of each
  /// slot is a guard. Error: the system has no such addresses, or refuses them.
  Status map(uint32_t ranks) const;
};

}  // namespace fgmpi::heap
