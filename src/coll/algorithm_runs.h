// How often the processes run each algorithm of collectives (base/algorithms.def): of the process,
// and of a communicator while a tool has started a performance variable of it.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include "base/counters.h"
#include "coll/failure.h"

namespace fgmpi::coll {

/// One more run for a team. REQUIRES: kFirstRuns <= algorithm < kFirstCommRuns (counters.h).
void count_run(const OpenTeam& team, counters::Id algorithm);

/// A tool is told of each run: the communicator's key (MPIX_Comm_key) and the algorithm's place in
/// algorithms.def.
void set_tool_run(void (*run)(int leader, int index, int algorithm));

}  // namespace fgmpi::coll
