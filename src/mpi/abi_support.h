// What libmpi_abi.so.1 asks of this library besides MPI's own functions.
#pragma once

#include <mpi.h>

#include <cstdint>

extern "C" {

/// The number of elements of an array that a collective on the communicator takes: 0: one for each
/// rank (of the remote group of an intercommunicator), 1 and 2: one for each neighbour that the
/// calling rank receives from or sends to. Returns 0 where the handle is no communicator's or there
/// are no neighbours. Calls no error handler. Any thread.
__attribute__((visibility("default"))) int64_t fgmpi_abi_length(MPI_Comm comm, int which);

/// For a handler of MPIX_*_create_errhandler_x: its function is called with the address of the
/// error code in place of the code, and the call that failed returns what is there then, as with
/// other handlers. Without this the call returns MPI_SUCCESS, as the C++ binding needs it, which
/// would call the handler once more. Any thread.
__attribute__((visibility("default"))) void fgmpi_abi_pass_address(MPI_Errhandler handler);

/// The number of results that the calling rank's last MPI_Comm_spawn or MPI_Comm_spawn_multiple has
/// stored: only the root's arguments tell it. Any thread.
__attribute__((visibility("default"))) int64_t fgmpi_abi_results_of_spawn(void);

}  // extern "C"
