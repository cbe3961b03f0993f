// Extensions of our library that the report needs; null with other MPI libraries, where
// nothing is counted.
#pragma once

#include <cstdint>

#include "fgmpi.h"

#pragma weak MPIX_Tool_word
#pragma weak MPIX_Tool_peer
#pragma weak MPIX_Tool_process
#pragma weak MPIX_Tool_counter
#pragma weak MPIX_Tool_handlers
#pragma weak MPIX_Tool_runs
#pragma weak MPIX_Tool_copies
#pragma weak MPIX_Comm_key
#pragma weak MPIX_Comm_map_info
#pragma weak MPIX_Get_collocated_size
#pragma weak MPIX_Get_collocated_startrank
#pragma weak MPIX_Program_address

namespace fgmpi::report {

/// The address in the file of a program's module for an address in a rank's copy of it; without our
/// library the same address.
inline uint64_t program_address(uint64_t address) {
  if (!MPIX_Program_address || !address) return address;
  return reinterpret_cast<uint64_t>(MPIX_Program_address(reinterpret_cast<void*>(address)));
}

}  // namespace fgmpi::report
