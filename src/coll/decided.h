// Rooted collectives (broadcast, reduction, gather, scatter) in a process with a decider, which
// decides which members leave them early (early_exit_decider.h).
//
// MPI leaves open whether a member of a rooted collective waits for members from which it needs
// nothing. Here it waits, unless the decider lets it go on: then the data that others still
// need from it is copied, and the data that it needs from the root is given to it. Thread rule:
// one thread.
#pragma once

#include "coll/coll.h"

namespace fgmpi::coll {

/// Runs a blocking rooted collective of an intracommunicator. REQUIRES: args->kind is rooted; there
/// is a decider. May switch.
Status run_decided(Comm* comm, Args* args, const char* call);

}  // namespace fgmpi::coll
