// The texts of the predefined error classes (MPI-4.0 table 9.2 and 9.3).
#pragma once

#include <mpi.h>

namespace fgmpi::mpi {

/// Largest predefined class of the host's mpi.h.
inline constexpr int kLastStandardClass = MPICH_ERR_LAST_CLASS;

/// A short phrase for an error class, "Unknown error class" for others. Never null.
const char* class_text(int error_class);

}  // namespace fgmpi::mpi
