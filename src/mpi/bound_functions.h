// Programs in which a function of the program runs as each rank: FGmpiexec of fgmpi.h (the
// interface of FG-MPI, the system of HPDC 2010).
//
//   main ranks share globals: main runs once a process, on the proclet of its first rank; the other
//   proclets wait here
//     FGmpiexec(&argc, &argv, lookup)     lookup gives the map of the process map(argc, argv,
//       MAP_INIT_ACTION) map(argc, argv, rank) -> function, for each rank of the process, and
//       function(argc, argv) on the rank's proclet map(argc, argv, MAP_FINALIZE_ACTION), when all
//       of these functions have returned
//   main goes on
// Where ranks have their own globals (FGMPI_PRIVATIZE=on), each of them runs main and does all of
// this for itself.
//
// Thread rule: the scheduler's thread.
#pragma once

#include <cstdint>

namespace fgmpi::mpi {

/// Runs the function that FGmpiexec binds to the rank, on its proclet; returns when that has
/// returned, or when the main of the process has ended without FGmpiexec. For the ranks of a
/// process but its first. May switch.
void run_bound_function();

/// The rank proclet `local_index` has ended. Was it the first, ranks that still wait for its main
/// to call FGmpiexec end, too. Was it the last of the others, main goes on. Never switches.
void note_end_of_bound_function(uint32_t local_index);

}  // namespace fgmpi::mpi
