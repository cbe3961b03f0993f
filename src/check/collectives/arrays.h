// Arrays of counts, displacements and types that a collective is given. One hash tells whether a
// call's arrays equal those of an earlier call; it is computed at the speed of memory.
// Thread rule: as CheckedCall (call.h). Never switches.
#pragma once

#include <cstdint>

#include "check/rank.h"

namespace fgmpi::check {

/// Does the function have such arrays, so that repeated calls must compare their hash?
bool has_arrays(Calls id);
/// A hash of the arrays that the rank's call reads; 1 where it reads none, 0 where their
/// length is unknown.
uint64_t hash_of_arrays(Calls id, const int64_t* words, const OwnComm& own);

}  // namespace fgmpi::check
