// Windows as bindings see them (MPI-4.0 chapter 12). A window has its own error handler, for calls
// that name it. Thread rule: one thread.
#pragma once

#include <mpi.h>

#include "comm/attr.h"
#include "mpi/binding.h"
#include "mpi/comm/comm_common.h"
#include "rma/win.h"

namespace fgmpi::mpi {

/// The result of a call with a handle that is not a window's.
int bad_win(const char* call, MPI_Win handle);
/// Makes a code of the error and calls the window's handler.
int fail(const char* call, rma::Win* win, const Status& status);
int fail_code(const char* call, rma::Win* win, int code);
inline int done(const char* call, rma::Win* win, const Status& status) {
  return __builtin_expect(status.ok(), 1) ? MPI_SUCCESS : fail(call, win, status);
}
/// Ends a binding that has called a function of the user's.
inline int done(const char* call, rma::Win* win, int code) {
  return __builtin_expect(code == MPI_SUCCESS, 1) ? MPI_SUCCESS : fail_code(call, win, code);
}

/// Ends a call without an object.
inline int done(const char* call, std::nullptr_t, int code) {
  return done(call, static_cast<comm::Comm*>(nullptr), code);
}

/// Allowed are 0..size-1 and MPI_PROC_NULL. Errors: MPI_ERR_RANK.
inline Status check_rank(const rma::Win* win, int rank, const char* argument, bool) {
  if (__builtin_expect(static_cast<uint32_t>(rank) < static_cast<uint32_t>(win->comm->size()), 1))
    return {};
  return check_rank(win->comm, rank, argument, false);
}

// ---- Functions that rows of calls.table name. Those that create and free may switch. ------------
Status make_win(const char* call, void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info,
                comm::Comm* comm, rma::Win** win);
/// MPI_Win_allocate and MPI_Win_allocate_shared. `baseptr`: the address of a pointer.
Status make_allocated_win(const char* call, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info,
                          comm::Comm* comm, void* baseptr, rma::Win** win);
Status make_dynamic_win(const char* call, MPI_Info info, comm::Comm* comm, rma::Win** win);
/// Frees a window, its attributes first. Returns an error code.
int free_win(const char* call, rma::Win* win);

/// MPI_Win_get_name, also of MPI_WIN_NULL (MPI-4.1 section 7.8).
int name_of_win(const char* call, MPI_Win win, char* win_name, int* resultlen);

template <class Unit>
Status query_shared(rma::Win* win, int rank, MPI_Aint* size, Unit* disp_unit, void* baseptr) {
  int64_t bytes, unit;
  FGMPI_TRY(rma::shared_query(win, rank, &bytes, &unit, static_cast<void**>(baseptr)));
  *size = bytes;
  *disp_unit = static_cast<Unit>(unit);
  return {};
}

/// Attributes on windows, from C or Fortran. Setting and deleting may switch (delete functions) and
/// return an error code.
Status get_win_attribute(rma::Win* win, int keyval, comm::AttrKind kind, void* value, int* flag);
int set_win_attribute(const char* call, rma::Win* win, int keyval, void* value,
                      comm::AttrKind kind);
int delete_win_attribute(const char* call, rma::Win* win, int keyval);

/// Hints on windows: the keys of the standard and of MPICH, with the values in use.
bool known_win_hint(const std::string& key);

}  // namespace fgmpi::mpi
