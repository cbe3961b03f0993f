/* The class of an error code. */
#ifndef FGMPI_TEST_ERROR_CLASS_H
#define FGMPI_TEST_ERROR_CLASS_H

#include "mpitest.h"

static inline int class_of(int code) {
  int error_class;
  OK(MPI_Error_class(code, &error_class));
  return error_class;
}

#endif
