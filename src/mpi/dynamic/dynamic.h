// Processes that join later: the functions that rows of calls.table name.
#pragma once

#include "comm/comm.h"

namespace fgmpi::mpi {

/// MPI_Comm_disconnect: collective, frees as MPI_Comm_free does. Returns an error code. May switch.
int disconnect(const char* call, comm::Comm* comm);

/// Called first in MPI_Init. For a rank that was spawned as a proclet: waits for the others of its
/// spawn, and ends the rank where the spawn has failed. Does nothing for other ranks. May switch.
void wait_for_siblings(uint32_t local);

/// Called when a rank has ended before it called MPI_Init. In a job that was spawned as processes,
/// others may wait there for the rank: this notifies its parents, which end the job. Does nothing
/// for other ranks.
void notify_parents_of_end(uint32_t local);

/// Connects, in MPI_Init of a rank that was spawned, its world with its parents. Does nothing for
/// other ranks. May switch.
Status connect_with_parents(comm::RankState* rank);

}  // namespace fgmpi::mpi
