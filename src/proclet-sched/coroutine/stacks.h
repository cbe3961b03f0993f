// Stacks: one reserved region of equal slots, each with a guard below its stack.
//
//   slot 0                      slot 1
//   | guard | <- stack grows    | guard | ...         both: whole pages
//   ^ base                      ^ base + slot_size
//
// Only touched pages cost memory. A guard costs no mapping where the kernel has MADV_GUARD_INSTALL
// (Linux 6.13). Elsewhere it is made by mprotect (two mappings a stack) while the limit on mappings
// allows, and otherwise it is a canary word that is checked at switches. The slot of an address is
// found by division. Slots may lie further apart, with other memory of the rank in between, where
// another module has mapped them (StackPlaces). Tops of stacks are coloured: consecutive stacks
// begin at different cache sets. If all began at a page boundary, every proclet's hottest lines
// would be in the same few sets.
//
// Thread rule: one thread. Invariant: a slot's pages are accessible for the lifetime of the region.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/page.h"
#include "base/processor.h"
#include "base/status.h"
#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// Bytes of the guard below a stack: a large frame cannot jump over it.
inline size_t guard_bytes() { return page_up(processor::kFrameStep); }

enum class StackGuard : uint8_t { kGuardPages, kMprotect, kCanary };

class StackRegion {
 public:
  static constexpr size_t kColours = 16;
  static constexpr size_t kColourBytes = 128;  ///< two lines: the adjacent-line prefetcher's unit

  StackRegion() = default;
  ~StackRegion() { release(); }
  StackRegion(const StackRegion&) = delete;
  StackRegion& operator=(const StackRegion&) = delete;

  /// Reserves `count` slots. `stack_size` is rounded up to pages. An error says how many slots
  /// would fit. The stacks are executable where the program asks for that.
  Status reserve(uint32_t count, size_t stack_size, const char* what);
  /// As reserve(), in memory that is mapped already and stays so. REQUIRES: the stacks fit, with
  /// the records that are part of them.
  void take(uint32_t count, size_t stack_size, const StackPlaces& places);
  /// As take(), for the one stack of a rank that comes from another process. `fresh`: its guard is
  /// installed; else it has been before. It stays after release(), for the rank's next visit.
  void visit(size_t stack_size, const StackPlaces& place, bool fresh);
  void release();

  /// Installs the guard of a slot. Called once per slot before its first use.
  void install_guard(uint32_t slot);
  /// Returns the pages of a slot to the system; the guard stays.
  void discard(uint32_t slot);
  /// False when the slot has a canary and its word was overwritten; true for other guards.
  bool intact(uint32_t slot) const;

  char* low(uint32_t slot) const { return base_ + slot * slot_size_ + guard_bytes_; }
  size_t stack_size() const { return stack_size_; }
  /// One past the highest byte for frames, after colouring.
  char* top(uint32_t slot) const {
    return low(slot) + stack_size() - record_bytes_ - (slot % kColours) * kColourBytes;
  }
  /// Bytes of the pages of all stacks that were written.
  uint64_t written() const;
  /// The weakest guard of any slot.
  StackGuard guard() const { return canary_from_ < count_ ? StackGuard::kCanary : guard_; }
  uint32_t count() const { return count_; }
  /// The slot whose stack or guard holds the address, or -1; `in_guard` says which.
  int64_t slot_of(const void* address, bool* in_guard) const;

 private:
  /// The stacks of the region are to lie in these places.
  void use_places(uint32_t count, size_t stack_size, const StackPlaces& places);
  void choose_guard(uint32_t count);
  void remove_guards();
  char* base_ = nullptr;
  size_t slot_size_ = 0;    ///< from one slot to the next
  size_t guard_bytes_ = 0;  ///< from the start of a slot to its stack
  size_t stack_size_ = 0;
  size_t record_bytes_ = 0;    ///< at the end of each stack (StackPlaces)
  bool owned_ = true;          ///< release() unmaps the slots
  bool in_file_ = false;       ///< the slots are shared memory
  bool keeps_guards_ = false;  ///< release() leaves the guards
  uint32_t count_ = 0;
  uint32_t canary_from_ = 0;  ///< slots from here on have canaries
  StackGuard guard_ = StackGuard::kGuardPages;
};

}  // namespace fgmpi::sched
