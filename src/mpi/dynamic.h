// Processes that join later: what rows of calls.table name.
#pragma once

#include "comm/comm.h"

namespace fgmpi::mpi {

/// MPI_Comm_disconnect: collective, frees as MPI_Comm_free does. Returns an error code. May switch.
int disconnect(const char* call, comm::Comm* comm);

/// In MPI_Init of a rank that was spawned: connects its world with its parents; nothing for others. May switch.
Status connect_with_parents(comm::RankState* rank);

}  // namespace fgmpi::mpi
