// What a communicator with members of several jobs cannot do yet.
// Thread rule: one thread; nothing here switches.
#pragma once

#include "comm/comm.h"

namespace fgmpi::comm {

/// Errors: MPI_ERR_UNSUPPORTED_OPERATION when comm has members of several jobs; `what` is not there for these: "a window".
Status check_one_job(const Comm* comm, const char* what);

}  // namespace fgmpi::comm
