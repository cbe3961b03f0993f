/* Variables of the Fortran binding that programs pass by address, as exported_data.cc defines them
 * and libmpichfort does: all libraries use the definition that the dynamic linker finds first.
 * Plain C. */
#pragma once

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif
extern int MPIR_F08_MPI_BOTTOM;
extern int MPIR_F08_MPI_IN_PLACE;
extern MPI_F08_status MPIR_F08_MPI_STATUS_IGNORE_OBJ;
extern MPI_F08_status MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1];
#ifdef __cplusplus
}
#endif
