// One call of a collective in any of its forms, by `c.mode`: blocking, blocking with large counts,
// the same two nonblocking, and the same two persistent.
#ifndef FGMPI_TEST_FORMS_H
#define FGMPI_TEST_FORMS_H

#include "mpitest.h"

constexpr int kModes = 6;

#define WITH_REQUEST(...) (__VA_ARGS__, &request)
#define WITH_INFO(...) (__VA_ARGS__, MPI_INFO_NULL, &request)
#define COMPLETE OK(MPI_Wait(&request, MPI_STATUS_IGNORE))
#define RUN_PERSISTENT     \
  OK(MPI_Start(&request)); \
  COMPLETE;                \
  OK(MPI_Request_free(&request))
// plain, wide: the same arguments, arrays of int and of MPI_Count and MPI_Aint.
#define CALL_V(Name, Iname, plain, wide)        \
  do {                                          \
    MPI_Request request = MPI_REQUEST_NULL;     \
    switch (c.mode) {                           \
      case 0:                                   \
        OK(MPI_##Name plain);                   \
        break;                                  \
      case 1:                                   \
        OK(MPI_##Name##_c wide);                \
        break;                                  \
      case 2:                                   \
        OK(MPI_##Iname WITH_REQUEST plain);     \
        COMPLETE;                               \
        break;                                  \
      case 3:                                   \
        OK(MPI_##Iname##_c WITH_REQUEST wide);  \
        COMPLETE;                               \
        break;                                  \
      case 4:                                   \
        OK(MPI_##Name##_init WITH_INFO plain);  \
        RUN_PERSISTENT;                         \
        break;                                  \
      default:                                  \
        OK(MPI_##Name##_init_c WITH_INFO wide); \
        RUN_PERSISTENT;                         \
    }                                           \
  } while (0)
#define CALL(Name, Iname, arguments) CALL_V(Name, Iname, arguments, arguments)

#endif
