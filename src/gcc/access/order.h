// How the wrappers of threads.cc, openmp.cc and the atomic operations tell the checker what orders
// the threads of a rank.
//
// Thread rule: any thread.
#pragma once

#include "gcc/access/look.h"

namespace fgmpi::access {

/// Is there a checker that wants to know? Searches for it the first time.
[[gnu::visibility("hidden")]] bool has_order();
/// Passes the event to the checker. REQUIRES: has_order().
[[gnu::visibility("hidden")]] uint64_t tell(Sync what, const volatile void* object,
                                            uint64_t value = 0);

/// Passes on an atomic operation of a rank with several threads.
inline void tell_atomic(Sync what, const volatile void* at, int order) {
  if (__builtin_expect(g_view.threads, 0)) tell(what, at, static_cast<uint64_t>(order & 0xffff));
}

}  // namespace fgmpi::access
