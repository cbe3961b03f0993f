// What generated and hand-written wrappers share.
#pragma once

#include "tools/track/recorder.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace fgmpi::track {

/// Does the Fortran binding call? Its procedures of mpi_f08 call PMPI_* directly, so PMPI_* of this library are traced
/// when they do; to all others they are MPI's own.
inline bool from_fortran(const void* caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  return __builtin_expect(address >= g_process.fortran_low && address < g_process.fortran_high, 0);
}

}  // namespace fgmpi::track
