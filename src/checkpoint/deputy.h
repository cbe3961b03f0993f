// Deputies: MPI's functions are called for a rank by a helper coroutine of the process that has the
// rank's objects, its *home*, so that the rank itself could run in another process.
//
// Functions of the program that MPI calls meanwhile are called by the rank (by_rank()).
//
// Thread rule: a rank's, or that of one of its helpers.
#pragma once

#include <type_traits>

#include "base/checkpoint_link.h"

#pragma weak fgmpi_call_by_rank

namespace fgmpi::checkpoint {

/// Ranks of the process may have deputies.
extern bool g_deputies;
/// MPI calls a function of the program, maybe in a helper: the rank itself makes the call where it
/// waits for its deputy. May switch.
template <class Body>
void by_rank(Body&& body) {
  using Call = std::remove_reference_t<Body>;
  const LayerCall call = {[](void* data) { (*static_cast<Call*>(data))(); }, &body};
  if (__builtin_expect(g_deputies, 0) && fgmpi_call_by_rank(call)) return;
  body();
}

}  // namespace fgmpi::checkpoint
