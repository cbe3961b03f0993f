// How a binding that is written by hand is exported (calls.table names its file; all others are
// generated).
//
//   FGMPI_EXPORT(MPI_Wtime);
//   double PMPI_Wtime(void) { ... }
//
// exports PMPI_Wtime and a weak alias MPI_Wtime, so that profiling tools can put their own
// MPI_Wtime in front.
#pragma once

#include <mpi.h>

// GCC sees that some of our functions do not throw, and warns where the alias is not declared so.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmissing-attributes"
#endif

/// In front of the definition of P##name, for a function of the host's mpi.h.
#define FGMPI_EXPORT(name)                                                                   \
  extern "C"                                                                                 \
      __attribute__((weak, visibility("default"), alias("P" #name))) decltype(P##name) name; \
  extern "C" __attribute__((visibility("default"))) decltype(P##name) P##name

/// As above, for a function without a profiling name (MPII_Comm_get_attr, host/internal.h).
#define FGMPI_EXPORT_INTERNAL(name) \
  extern "C" __attribute__((visibility("default"))) decltype(name) name

/// In front of the definition of an MPIX_* or fgmpi_* function declared in fgmpi.h.
#define FGMPI_EXTENSION extern "C" __attribute__((visibility("default")))
