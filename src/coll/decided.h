// Rooted collectives (broadcast, reduction, gather, scatter) in a process whose order of events
// somebody decides (pt2pt/decider.h).
//
// MPI leaves open whether a member of a rooted collective waits for those that it needs nothing of.
// Here it does, unless the decider lets it go on: then what the others still need of it is copied,
// and what it needs of the root is given to it. Thread rule: one thread.
#pragma once

#include "coll/coll.h"

namespace fgmpi::coll {

/// Runs a blocking one of an intracommunicator. REQUIRES: args->kind is rooted; there is a decider.
/// May switch.
Status run_decided(Comm* comm, Args* args, const char* call);

}  // namespace fgmpi::coll
