// Arrays that a collective is given: counts, displacements and types of parts. A hash of them says
// whether a call is the same as one before, at the speed of memory.
// Thread rule: as Call (call.h). Never switches.
#pragma once

#include <cstdint>

#include "check/rank.h"

namespace fgmpi::check {

/// Has a call of this function such arrays? May it then be known to be as before?
bool has_arrays(Calls id);
/// Of those that the rank's call reads; 1 where it reads none, 0 where it is not known how long
/// they are.
uint64_t hash_of_arrays(Calls id, const int64_t* words, const OwnComm& own);

}  // namespace fgmpi::check
