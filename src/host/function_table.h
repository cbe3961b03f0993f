// Every function of the host's mpi.h, and what answers it in this library. The table is exported
// for fgmpi-info and the tests, and ends with a null name.
#pragma once

struct fgmpi_function {
  const char* name;  ///< "MPI_Send"
  enum FunctionKind {
    kOwned,      ///< our own code
    kForwarded,  ///< the hosted MPICH
    /// There is no code yet: the stub fails with MPI_ERR_UNSUPPORTED_OPERATION.
    kPending
  } kind;
};

extern "C" __attribute__((visibility("default"))) const fgmpi_function fgmpi_functions[];
