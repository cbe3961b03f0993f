// How a binding is defined. FGMPI_OWN(Send) in front of the definition of PMPI_Send exports it and a weak
// alias MPI_Send (so that profiling tools can put their own MPI_Send in front), and tells the generator
// of the forwarding stubs (src/host/) that this function is ours.
#pragma once

#include <mpi.h>

// The compiler sees that some of our functions do not throw and wants that said of the alias too.
#pragma GCC diagnostic ignored "-Wmissing-attributes"

#define FGMPI_OWN(name)                                                              \
  extern "C" __attribute__((weak, visibility("default"),                             \
                            alias("PMPI_" #name))) decltype(PMPI_##name) MPI_##name; \
  extern "C" __attribute__((visibility("default")))

/// In front of the definition of an MPIX_* or fgmpi_* function declared in fgmpi.h.
#define FGMPI_EXTENSION extern "C" __attribute__((visibility("default")))

/// The same for a function of the host's named MPIX_name, and for one without a profiling name, given in full
/// (MPII_Comm_get_attr, host/internal.h).
#define FGMPI_OWN_MPIX(name)                                                            \
  extern "C" __attribute__((weak, visibility("default"),                                \
                            alias("PMPIX_" #name))) decltype(PMPIX_##name) MPIX_##name; \
  extern "C" __attribute__((visibility("default")))
#define FGMPI_OWN_INTERNAL(symbol) extern "C" __attribute__((visibility("default")))
