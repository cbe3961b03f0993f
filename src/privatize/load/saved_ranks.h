// Ranks that libfgmpi-checkpoint saves: what of them lies outside of their slots, and how they go
// on in another process (base/checkpoint_link.h).
//
// Thread rule: the scheduler's thread.
#pragma once

#include "base/checkpoint_link.h"
#include "base/status.h"
#include "proclet-sched/sched.h"

namespace fgmpi::privatize {

/// Where this process goes on with saved ranks: fills their slots, and lets each rank that has been
/// created continue where it was saved in place of running main. Called once, behind
/// sched::create_ranks(). Error: they cannot go on here; the text says why.
Status restore_ranks();

// ---- For visitors.cc: a rank goes on in another process while the job runs ----
/// nullptr, or why no rank of this process can go on elsewhere.
const char* reason_against_saving();
/// Describes the running rank but for what it has open and mapped, and where it goes on. Returns
/// nullptr, or why it must stay.
const char* describe_rank(checkpoint::RankRoot* root);
/// Gives the rank of this process what the root leads to, but for what it has open. Returns its
/// proclet, which does not run yet.
sched::Proclet* adopt_rank(uint32_t index, const checkpoint::RankRoot& root);

}  // namespace fgmpi::privatize
