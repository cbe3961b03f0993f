// What MPI functions do with their arguments, by their names; and which of them can be hoisted.
#pragma once

#include "gcc.h"

namespace hoist {

/// One letter an argument (in Fortran one more follows, the error code):
///   b buffer   c count   t type   r root   m communicator     C counts   D displacements   T types
///              (arrays)
///   i anything else that is only read   o anything that may be written
struct MpiCall {
  std::string name;             ///< "Bcast"
  const char* roles = nullptr;  ///< nullptr: not known
  bool fortran = false;
  bool hoistable = false;
  unsigned arguments = 0;  ///< letters of `roles`
};

/// Fills *out where `function` is an MPI function in C or Fortran.
bool find_mpi_call(tree function, MpiCall* out);
/// The same of a call whose arguments are as many as they should be; false for calls through
/// pointers.
bool find_mpi_call(gimple* stmt, MpiCall* out);

/// After it a communicator may be gone.
bool frees_communicators(const MpiCall& call);

/// May the call write what argument i points to?
bool writes_argument(const MpiCall& call, gimple* stmt, unsigned i);

/// Is argument i a pointer to something that is not const? True where the parameters are not
/// declared.
bool has_pointer_to_variable(gimple* stmt, unsigned i);

/// "its root"
const char* words_of(char role);

}  // namespace hoist
