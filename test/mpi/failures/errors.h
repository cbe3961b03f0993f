/* What programs of this folder expect of a call when a process has failed. */
#ifndef FGMPI_TEST_FAILURES_ERRORS_H
#define FGMPI_TEST_FAILURES_ERRORS_H

#include <fgmpi.h>

#include "../error_class.h"

#define FAILS(call) CHECK(class_of(call) == MPIX_ERR_PROC_FAILED)
#define REVOKED(call) CHECK(class_of(call) == MPIX_ERR_REVOKED)

#endif
