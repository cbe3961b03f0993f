/* What programs of this folder expect of a call when a process has failed. */
#ifndef FGMPI_TEST_FAILURES_ERRORS_H
#define FGMPI_TEST_FAILURES_ERRORS_H

#include <fgmpi.h>

#include "../mpitest.h"

static inline int class_of(int code) {
  int class;
  MPI_Error_class(code, &class);
  return class;
}
#define FAILS(call) CHECK(class_of(call) == MPIX_ERR_PROC_FAILED)
#define REVOKED(call) CHECK(class_of(call) == MPIX_ERR_REVOKED)

#endif
