// What is ready, for the balance of load (src/balance).
//
// Thread rule: the scheduler's thread.
#pragma once

#include <cstdint>

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// The first ranks that are ready, at most `most`. Returns how many. Never switches.
uint32_t list_ready_ranks(Proclet** ranks, uint32_t most);

/// Lets all helpers run that are ready, then goes on with the running rank, in front of all others:
/// a helper may act for a rank that waits in another process, and be behind ranks that compute.
/// Does nothing where the queue is not first in, first out. May switch.
void run_helpers_first();

}  // namespace fgmpi::sched
