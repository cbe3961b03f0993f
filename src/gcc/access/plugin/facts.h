// The pass that tells the checker what the compiler knows about buffers of MPI calls.
#pragma once

#include "calls.h"

namespace access_plugin {

/// Puts calls of fgmpi_access_call() into the function, and of fgmpi_access_polls() in front of
/// loads by which the program waits for others. Returns what the compiler must do next.
unsigned announce_mpi_calls(function* f);

}  // namespace access_plugin
