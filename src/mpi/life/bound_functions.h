// Programs in which a function of the program runs as each rank: FGmpiexec of fgmpi.h (the
// interface of FG-MPI, the system of HPDC 2010).
//
//   Ranks that share globals: main runs once a process, on the proclet of its first rank; the other
//   proclets wait.
//     FGmpiexec(&argc, &argv, lookup)
//       lookup() returns the map of the process
//       map(argc, argv, MAP_INIT_ACTION)
//       map(argc, argv, rank) -> function, for each rank of the process, and
//       function(argc, argv) on the rank's proclet
//       map(argc, argv, MAP_FINALIZE_ACTION), when all of these functions have returned
//     main continues
//
//   Ranks that have their own globals (FGMPI_PRIVATIZE=on): each runs main and does all of this for
//   itself.
//
// Thread rule: the scheduler's thread.
#pragma once

#include <cstdint>

namespace fgmpi::mpi {

/// Runs, on the rank's proclet, the function that FGmpiexec binds to the rank. Returns when the
/// function has returned, or when the main of the process has ended without FGmpiexec. For all
/// ranks of a process but its first. May switch.
void run_bound_function();

/// Called when the rank proclet `local_index` has ended. If it was the first rank, ranks that still
/// wait for its main to call FGmpiexec end, too. If it was the last of the others, main continues.
/// Never switches.
void record_bound_function_end(uint32_t local_index);

}  // namespace fgmpi::mpi
