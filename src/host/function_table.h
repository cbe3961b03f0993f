// Every function of the host's mpi.h, and who answers it in this library. Exported for fgmpi-info
// and the tests; the table ends with a null name.
#pragma once

struct fgmpi_function {
  const char* name;  ///< "MPI_Send"
  enum Kind {
    /// Nobody yet: fails with MPI_ERR_UNSUPPORTED_OPERATION.
    kOwned,      ///< our own code
    kForwarded,  ///< the hosted MPICH
    kPending
  } kind;
};

extern "C" __attribute__((visibility("default"))) const fgmpi_function fgmpi_functions[];
