// MPI_Waitany, MPI_Testany, MPI_Waitsome and MPI_Testsome in Fortran: their indices count from 1
// (MPI-4.0 section 3.7.5), which libmpichfort 4.0.2 gets wrong: mpi_f08 counts from 0, and mpif.h
// adds 1 to MPI_UNDEFINED, too.
//
// The procedures of mpif.h and the module mpi call MPI_*, those of mpi_f08 call PMPI_*, as in
// libmpichfort: so tools see each call once.
#include <mpi.h>

#include "fortran/call_with_sections.h"
#include "host/exported_fortran.h"

extern "C" {
/// Symbols of libmpichfort: mpirinitf_() finds the addresses of the constants of mpif.h, and has to
/// be called while MPIR_F_NeedInit is not 0.
[[gnu::weak]] void mpirinitf_();
[[gnu::weak]] extern int MPIR_F_NeedInit;
}

namespace fgmpi::fortran {
namespace {

using AnyWait = int (*)(int, MPI_Request*, int*, MPI_Status*);
using AnyTest = int (*)(int, MPI_Request*, int*, int*, MPI_Status*);
using Some = int (*)(int, MPI_Request*, int*, int*, MPI_Status*);

inline int from_one(int index) { return index == MPI_UNDEFINED ? index : index + 1; }

inline void set_error(int* ierror, int code) {
  if (ierror) *ierror = code;
}

/// Converts a status argument of mpif.h to C: statuses of mpif.h and mpi_f08 have C's layout.
MPI_Status* status_of_mpif(MPI_Fint* status, MPI_Fint* const* ignored, MPI_Status* ignore) {
  if (&MPIR_F_NeedInit && &mpirinitf_ && MPIR_F_NeedInit) {
    mpirinitf_();
    MPIR_F_NeedInit = 0;
  }
  return status == *ignored ? ignore : reinterpret_cast<MPI_Status*>(status);
}
MPI_Status* one_of_mpif(MPI_Fint* status) {
  return status_of_mpif(status, &MPI_F_STATUS_IGNORE, MPI_STATUS_IGNORE);
}
MPI_Status* all_of_mpif(MPI_Fint* statuses) {
  return status_of_mpif(statuses, &MPI_F_STATUSES_IGNORE, MPI_STATUSES_IGNORE);
}
MPI_Status* one_of_f08(MPI_F08_status* status) {
  return status == &MPIR_F08_MPI_STATUS_IGNORE_OBJ ? MPI_STATUS_IGNORE
                                                   : reinterpret_cast<MPI_Status*>(status);
}
MPI_Status* all_of_f08(MPI_F08_status* statuses) {
  return statuses == MPIR_F08_MPI_STATUSES_IGNORE_OBJ ? MPI_STATUSES_IGNORE
                                                      : reinterpret_cast<MPI_Status*>(statuses);
}
static_assert(sizeof(MPI_F08_status) == sizeof(MPI_Status) &&
              sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint));

template <AnyWait wait>
FGMPI_FORTRAN_CODE void wait_any(const int* count, MPI_Request* requests, int* index,
                                 MPI_Status* status, int* ierror) {
  int found = MPI_UNDEFINED;
  set_error(ierror, wait(*count, requests, &found, status));
  *index = from_one(found);
}

/// Flags are logicals of gfortran: 0 or 1.
template <AnyTest test>
FGMPI_FORTRAN_CODE void test_any(const int* count, MPI_Request* requests, int* index, int* flag,
                                 MPI_Status* status, int* ierror) {
  int found = MPI_UNDEFINED, completed = 0;
  set_error(ierror, test(*count, requests, &found, &completed, status));
  *index = from_one(found);
  *flag = completed != 0;
}

template <Some some>
FGMPI_FORTRAN_CODE void take_some(const int* count, MPI_Request* requests, int* outcount,
                                  int* indices, MPI_Status* statuses, int* ierror) {
  *outcount = MPI_UNDEFINED;
  set_error(ierror, some(*count, requests, outcount, indices, statuses));
  for (int i = 0; i < *outcount; ++i) indices[i] = from_one(indices[i]);
}

}  // namespace
}  // namespace fgmpi::fortran

using namespace fgmpi::fortran;

#define PROCEDURE FGMPI_FORTRAN_PROCEDURE void

PROCEDURE mpi_waitany_f08_(const int* count, MPI_Request* requests, int* index,
                           MPI_F08_status* status, int* ierror) {
  wait_any<PMPI_Waitany>(count, requests, index, one_of_f08(status), ierror);
}
PROCEDURE mpi_testany_f08_(const int* count, MPI_Request* requests, int* index, int* flag,
                           MPI_F08_status* status, int* ierror) {
  test_any<PMPI_Testany>(count, requests, index, flag, one_of_f08(status), ierror);
}
PROCEDURE mpi_waitsome_f08_(const int* count, MPI_Request* requests, int* outcount, int* indices,
                            MPI_F08_status* statuses, int* ierror) {
  take_some<PMPI_Waitsome>(count, requests, outcount, indices, all_of_f08(statuses), ierror);
}
PROCEDURE mpi_testsome_f08_(const int* count, MPI_Request* requests, int* outcount, int* indices,
                            MPI_F08_status* statuses, int* ierror) {
  take_some<PMPI_Testsome>(count, requests, outcount, indices, all_of_f08(statuses), ierror);
}

PROCEDURE pmpi_waitany_(const int* count, MPI_Request* requests, int* index, MPI_Fint* status,
                        int* ierror) {
  wait_any<MPI_Waitany>(count, requests, index, one_of_mpif(status), ierror);
}
PROCEDURE pmpi_testany_(const int* count, MPI_Request* requests, int* index, int* flag,
                        MPI_Fint* status, int* ierror) {
  test_any<MPI_Testany>(count, requests, index, flag, one_of_mpif(status), ierror);
}
PROCEDURE pmpi_waitsome_(const int* count, MPI_Request* requests, int* outcount, int* indices,
                         MPI_Fint* statuses, int* ierror) {
  take_some<MPI_Waitsome>(count, requests, outcount, indices, all_of_mpif(statuses), ierror);
}
PROCEDURE pmpi_testsome_(const int* count, MPI_Request* requests, int* outcount, int* indices,
                         MPI_Fint* statuses, int* ierror) {
  take_some<MPI_Testsome>(count, requests, outcount, indices, all_of_mpif(statuses), ierror);
}

// Compilers spell the names of procedures in several ways. The aliases are weak, so that a
// profiling tool may define its own procedures of these names.
#define FGMPI_ALIAS(target, name) \
  extern "C" __attribute__((weak, visibility("default"), alias(#target))) decltype(target) name;
#define FGMPI_SPELLINGS(lower, UPPER)                   \
  FGMPI_ALIAS(mpi_##lower##_f08_, pmpir_##lower##_f08_) \
  FGMPI_ALIAS(pmpi_##lower##_, pmpi_##lower)            \
  FGMPI_ALIAS(pmpi_##lower##_, pmpi_##lower##__)        \
  FGMPI_ALIAS(pmpi_##lower##_, PMPI_##UPPER)            \
  FGMPI_ALIAS(pmpi_##lower##_, mpi_##lower)             \
  FGMPI_ALIAS(pmpi_##lower##_, mpi_##lower##_)          \
  FGMPI_ALIAS(pmpi_##lower##_, mpi_##lower##__)         \
  FGMPI_ALIAS(pmpi_##lower##_, MPI_##UPPER)
FGMPI_SPELLINGS(waitany, WAITANY)
FGMPI_SPELLINGS(testany, TESTANY)
FGMPI_SPELLINGS(waitsome, WAITSOME)
FGMPI_SPELLINGS(testsome, TESTSOME)
