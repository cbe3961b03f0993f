// Ranks that libfgmpi-checkpoint saves: what of them lies outside of their slots, and how they go
// on in another process (base/checkpoint_link.h).
//
// Thread rule: the scheduler's thread.
#pragma once

#include "base/status.h"

namespace fgmpi::privatize {

/// Where this process goes on with saved ranks: fills their slots, and lets each rank that has been
/// created continue where it was saved in place of running main. Called once, behind
/// sched::create_ranks(). Error: they cannot go on here; the text says why.
Status restore_ranks();

}  // namespace fgmpi::privatize
