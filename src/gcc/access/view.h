// What the entry points of a program that was compiled with mpicc -check know of the memory that
// MPI operations own, and what they tell the checker (check).
//
// A View lies in each module (program, library) that was linked with entry points, so that each
// rank has its own in its image. Most accesses are decided by it alone: they call nothing.
//
//   low[how], length[how]   an access that begins in low .. low + length may touch memory that is
//                           owned. [0]: reads, which matter only for what operations write; [1]:
//                           writes. low is kMost - 1 below what is owned, so that an access of up
//                           to kMost bytes that reaches into it counts. At first: everything.
//   filter                  a byte for each kind of granule (bits 9 to 20 of an address); 0:
//                           nothing there is owned. It is the checker's; null as long as the
//                           checker does not know the view.
//
// Thread rule: the checker writes a view with the lock of its owner held, word by word; entry
// points read it without a lock in any thread of the rank. A word that is old or new is right
// either way: what threads do at the same moment has no order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::access {

/// Bytes of the largest access that is not told as a range.
inline constexpr uintptr_t kMost = 16;
inline constexpr unsigned kGranuleBits = 9;
inline constexpr size_t kGranules = 4096;

inline constexpr size_t granule(uintptr_t address) { return (address >> kGranuleBits) % kGranules; }

struct View {
  uintptr_t low[2] = {0, 0};
  uintptr_t length[2] = {~uintptr_t{0}, ~uintptr_t{0}};
  const uint8_t* filter = nullptr;
  void* owner = nullptr;  ///< the checker's
};
// What as.sh and the plugin (plugin/) write into programs.
static_assert(offsetof(View, low) == 0 && offsetof(View, length) == 16 && sizeof(uintptr_t) == 8);

/// An access that a view does not decide.
struct Access {
  uintptr_t address;
  size_t bytes;
  bool writes;
  /// It does, and may write as well: a load, or an atomic change that gives the old value.
  bool reads;
  /// Of the C library, that made it for the program; null: the program itself.
  const char* function;
  const void* place;  ///< where the entry point returns to
};

/// Exported by libfgmpi-check.so, found by name. Knows the view afterwards, unless nothing can be
/// said yet.
using Look = void (*)(View* view, const Access* access);
inline constexpr const char* kLook = "fgmpi_check_access";
/// Likewise: may an operation own any of these bytes, so that accesses to them have to be looked at
/// one by one?
using Touches = bool (*)(View* view, uintptr_t address, size_t bytes, bool writes);
inline constexpr const char* kTouches = "fgmpi_check_touches";
/// Likewise: the view is about to go.
using Forget = void (*)(View* view);
inline constexpr const char* kForget = "fgmpi_check_forget";

}  // namespace fgmpi::access
