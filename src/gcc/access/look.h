// The check that every entry point makes: whether, by the module's view, an access may touch memory
// that an operation owns.
//
// Thread rule: any thread. Nothing here waits unless an access touches such memory, and nothing
// switches.
#pragma once

#include "gcc/access/view.h"

#define FGMPI_ENTRY extern "C" [[gnu::visibility("hidden")]]
#define FGMPI_PLACE __builtin_return_address(0)

namespace fgmpi::access {

/// The view of the module into which this copy is linked. as.sh writes this name.
[[gnu::visibility("hidden")]] extern AccessView g_view __asm__("fgmpi_access_view");

/// Checks an access that begins within the view's bounds, where memory may be owned.
[[gnu::visibility("hidden")]] void check_access_slowly(uintptr_t address, size_t bytes, bool writes,
                                                       bool reads, const void* place);
/// Checks an access of any length; `function` as in ProgramAccess.
[[gnu::visibility("hidden")]] void check_range_access(uintptr_t address, size_t bytes, bool writes,
                                                      const void* place, const char* function);

/// A load of these bytes follows, as kPolls says.
[[gnu::visibility("hidden")]] void announce_poll(uintptr_t address, size_t bytes,
                                                 const void* place);

/// Checks an access, in line: a compare and a jump where no operation owns memory. REQUIRES: bytes
/// <= kMost.
[[gnu::always_inline]] inline void look(const volatile void* at, size_t bytes, bool writes,
                                        const void* place, bool also_reads = false) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  if (__builtin_expect(address - g_view.low[writes] < g_view.length[writes], 0))
    check_access_slowly(address, bytes, writes, !writes || also_reads, place);
}

[[gnu::always_inline]] inline void check_access(const volatile void* at, size_t bytes, bool writes,
                                                const void* place, const char* function) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  // A range that begins before the bounds and reaches into them counts as well; so only the length
  // of the bounds is compared here.
  if (__builtin_expect(g_view.length[writes] != 0, 0) && bytes > 0)
    check_range_access(address, bytes, writes, place, function);
}

}  // namespace fgmpi::access
