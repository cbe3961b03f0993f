// The process's life: who am I, which ranks live here, start, end.
//
//   __libc_start_main (src/privatize) -> ranks_of_this_process() -> images -> process_main() on the host stack
//     -> bootstrap exchange (one put/fence/get) -> transports -> endpoints -> rank proclets run main -> end
//
// Thread rule: one thread; host stack.
#pragma once

#include <cstdint>
#include <string>

#include "bootstrap/bootstrap.h"

namespace fgmpi::privatize {
struct Program;
}

namespace fgmpi::mpi {

/// How many rank proclets this process hosts: FGMPI_NFG, or its share of FGMPI_RANKS. Callable before anything
/// else is set up; a bad value ends the process with one line. Also opens the bootstrap when it must know its rank.
uint32_t ranks_of_this_process();

/// Runs the whole job's part in this process and returns its exit status. Host stack.
int process_main(privatize::Program& program);

/// Exchanges addresses with the other processes of the job, once, and sets up transports and endpoints.
/// Called by the first MPI_Init of the process; host stack; blocks the process.
Status connect();

/// MPI_Finalize's work for the running rank.
void finalize_running_rank();

/// The bootstrap of this process (opened on first use).
bootstrap::Bootstrap& boot();

/// A proclet's program called exit(status) or returned from main: what MPI has to say about it
/// (exit without MPI_Finalize after MPI_Init). Called on the proclet by src/privatize before it finishes.
void rank_exits(int status);

}  // namespace fgmpi::mpi
