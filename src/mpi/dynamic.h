// Processes that join later: what rows of calls.table name.
#pragma once

#include "comm/comm.h"

namespace fgmpi::mpi {

/// MPI_Comm_disconnect: collective, frees as MPI_Comm_free does. Returns an error code. May switch.
int disconnect(const char* call, comm::Comm* comm);

/// First of all in MPI_Init of a rank that was spawned as a proclet: waits for the others of its
/// spawn, and ends the rank where the spawn has failed. Nothing for others. May switch.
void wait_for_siblings(uint32_t local);

/// A rank of a spawned job has ended before it called MPI_Init, while others wait there for it: its
/// parents are told, and end the job. Nothing for ranks that were not spawned as processes.
void tell_parents_of_end(uint32_t local);

/// In MPI_Init of a rank that was spawned: connects its world with its parents; nothing for others.
/// May switch.
Status connect_with_parents(comm::RankState* rank);

}  // namespace fgmpi::mpi
