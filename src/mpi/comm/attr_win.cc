// Attributes on windows (MPI-4.0 sections 7.7.3 and 12.2.7), and the entries for Fortran.

#include <cstring>

#include "mpi/calls.h"
#include "mpi/comm/attr_common.h"
#include "mpi/rma/win.h"

namespace fgmpi::mpi {
namespace {

using comm::AttrKind;
using comm::KeyvalOf;

Attributed attributed(rma::Win* win) { return {KeyvalOf::kWin, win->comm, win->handle}; }

/// C receives a pointer to the value, which the window stores; Fortran receives the value as an
/// address-sized integer.
template <class T>
void give(T* kept, AttrKind kind, void* value) {
  const auto number = static_cast<intptr_t>(*kept);
  if (kind == comm::kAttrPointer)
    std::memcpy(value, &kept, sizeof kept);
  else
    std::memcpy(value, &number, sizeof number);
}

/// Fortran's keyvals are one more than C's. False for a number that is none.
bool predefined(rma::Win* win, int keyval, AttrKind kind, void* value) {
  const rma::Reach mine = rma::reach_of(win, win->comm->rank);
  rma::MemberEpochs& kept = rma::access_of(win);
  switch (keyval & 1 ? keyval : keyval - 1) {
    case MPI_WIN_BASE:
      // The attribute is the address itself in either language.
      std::memcpy(value, &mine.here, sizeof mine.here);
      return true;
    case MPI_WIN_SIZE:
      kept.size = mine.size < 0 ? 0 : mine.size;
      give(&kept.size, kind, value);
      return true;
    case MPI_WIN_DISP_UNIT:
      kept.unit = static_cast<int>(mine.unit);
      give(&kept.unit, kind, value);
      return true;
    case MPI_WIN_CREATE_FLAVOR:
      kept.flavor = win->shared->flavor;
      give(&kept.flavor, kind, value);
      return true;
    case MPI_WIN_MODEL:
      give(&kept.model, kind, value);
      return true;
    default:
      return false;
  }
}

}  // namespace

Status get_win_attribute(rma::Win* win, int keyval, AttrKind kind, void* value, int* flag) {
  *flag = 0;
  if (is_predefined(KeyvalOf::kWin, keyval) && predefined(win, keyval, kind, value)) {
    *flag = 1;
    return {};
  }
  bool found = false;
  FGMPI_TRY(get_attribute(attributed(win), keyval, kind, value, &found));
  *flag = found;
  return {};
}

int set_win_attribute(const char* call, rma::Win* win, int keyval, void* value, AttrKind kind) {
  return set_attribute(call, attributed(win), keyval, value, kind);
}

int delete_win_attribute(const char* call, rma::Win* win, int keyval) {
  return delete_attribute(call, attributed(win), keyval);
}

Status win_create_keyval(MPI_Win_copy_attr_function* copy, MPI_Win_delete_attr_function* remove,
                         int* keyval, void* extra) {
  return comm::create_keyval(KeyvalOf::kWin, erase_type(copy), erase_type(remove), extra, keyval);
}

Status win_free_keyval(int* keyval) { return free_keyval(KeyvalOf::kWin, keyval); }

}  // namespace fgmpi::mpi
