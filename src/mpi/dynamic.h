// Processes that join later: what rows of calls.table name.
#pragma once

#include "comm/comm.h"

namespace fgmpi::mpi {

/// MPI_Comm_disconnect: collective, frees as MPI_Comm_free does. Returns an error code. May switch.
int disconnect(const char* call, comm::Comm* comm);

}  // namespace fgmpi::mpi
