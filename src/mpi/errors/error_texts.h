// The texts of the predefined error classes (MPI-4.0 table 9.2 and 9.3).
#pragma once

#include <mpi.h>

#include <algorithm>

#include "fgmpi_standard.h"

namespace fgmpi::mpi {

/// Largest predefined class: that of MPI 5.0, or of a later mpi.h.
inline constexpr int kLastStandardClass = std::max(MPICH_ERR_LAST_CLASS, MPI_ERR_ABI);

/// A short phrase for an error class, "Unknown error class" for others. Never null.
const char* class_text(int error_class);

}  // namespace fgmpi::mpi
