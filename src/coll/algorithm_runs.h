// Counts of the runs of each algorithm (base/algorithms.def): those of the process, and those of a
// communicator while a tool has started a performance variable of it.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include "base/counters.h"
#include "coll/failure.h"

namespace fgmpi::coll {

/// Counts one more run for a team. REQUIRES: kFirstRuns <= algorithm < kFirstCommRuns (counters.h).
void count_run(const OpenTeam& team, counters::CounterId algorithm);

/// Sets a tool's function that is called at each run: the communicator's key (MPIX_Comm_key) and
/// the algorithm's index in algorithms.def.
void set_tool_run(void (*run)(int leader, int index, int algorithm));

}  // namespace fgmpi::coll
