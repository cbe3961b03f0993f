// The constants of MPI's Fortran bindings that are variables, under the names that MPICH's library
// has: programs that are linked with either find them.
#include <mpi.h>

#include "host/internal.h"
#include "mpichfort/arguments.h"

#define FGMPI_DATA __attribute__((visibility("default")))

extern "C" {
// The common blocks of mpif.h (generate/modules.py). The linker uses the program's, where it has
// them; so addresses below are the program's.
FGMPI_DATA int mpipriv1_[2 + MPI_F_STATUS_SIZE] =
    {};  // MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE
FGMPI_DATA int mpipriv2_[MPI_F_STATUS_SIZE + 1] = {};  // MPI_STATUSES_IGNORE, MPI_ERRCODES_IGNORE
FGMPI_DATA char mpiprivc_[2] = {};                     // MPI_ARGVS_NULL, MPI_ARGV_NULL
FGMPI_DATA int mpifcmb5_[1] = {};                      // MPI_UNWEIGHTED
FGMPI_DATA int mpifcmb9_[1] = {};                      // MPI_WEIGHTS_EMPTY
FGMPI_DATA int mpifcmba_[1] = {};                      // MPI_BUFFER_AUTOMATIC

FGMPI_DATA void* MPIR_F_MPI_BOTTOM = &mpipriv1_[0];
FGMPI_DATA void* MPIR_F_MPI_IN_PLACE = &mpipriv1_[1];
FGMPI_DATA int* MPIR_F_MPI_UNWEIGHTED = mpifcmb5_;
FGMPI_DATA int* MPIR_F_MPI_WEIGHTS_EMPTY = mpifcmb9_;
FGMPI_DATA void* MPIR_F_MPI_BUFFER_AUTOMATIC = mpifcmba_;
FGMPI_DATA int* MPI_F_ERRCODES_IGNORE = &mpipriv2_[MPI_F_STATUS_SIZE];
FGMPI_DATA char* MPI_F_ARGVS_NULL = &mpiprivc_[0];
FGMPI_DATA char* MPI_F_ARGV_NULL = &mpiprivc_[1];
/// MPICH's procedures fill the cells at their first call, while this is 1. Here the cells are
/// filled from the start, but for two that libmpich has.
FGMPI_DATA int MPIR_F_NeedInit = 0;

/// Fills the cells. src/privatize/image/fortran.cc calls it.
FGMPI_DATA void mpirinitf_() {
  MPI_F_STATUS_IGNORE = &mpipriv1_[2];
  MPI_F_STATUSES_IGNORE = &mpipriv2_[0];
}
/// MPICH's function that its mpirinitf_ calls with the addresses of the common blocks.
FGMPI_DATA void mpirinitc_(void* bottom, void* in_place, int* unweighted, int* weights_empty,
                           MPI_Fint* status_ignore, MPI_Fint* statuses_ignore, int* errcodes_ignore,
                           char* argvs_null, char* argv_null) {
  MPIR_F_MPI_BOTTOM = bottom;
  MPIR_F_MPI_IN_PLACE = in_place;
  MPIR_F_MPI_UNWEIGHTED = unweighted;
  MPIR_F_MPI_WEIGHTS_EMPTY = weights_empty;
  MPI_F_STATUS_IGNORE = status_ignore;
  MPI_F_STATUSES_IGNORE = statuses_ignore;
  MPI_F_ERRCODES_IGNORE = errcodes_ignore;
  MPI_F_ARGVS_NULL = argvs_null;
  MPI_F_ARGV_NULL = argv_null;
}

FGMPI_DATA int FGMPI_F08_CONSTANT(unweighted)[1] = {};
FGMPI_DATA int FGMPI_F08_CONSTANT(weights_empty)[1] = {};
FGMPI_DATA int FGMPI_F08_CONSTANT(buffer_automatic)[1] = {};
FGMPI_DATA int FGMPI_F08_CONSTANT(errcodes_ignore)[1] = {};
FGMPI_DATA char FGMPI_F08_CONSTANT(argv_null)[1] = {};
FGMPI_DATA char FGMPI_F08_CONSTANT(argvs_null)[1] = {};
}

[[gnu::constructor]] static void find_common_blocks() { mpirinitf_(); }
