// What MPI functions do with their arguments, by the functions' names; and which of them can be
// hoisted.
#pragma once

#include "gcc.h"

namespace hoist {

/// The arguments of an MPI function: one letter each (in Fortran one more follows, the error code).
///   b buffer   c count    t type            r root    m communicator
///   C counts   D displs   T types (arrays)
///   i any other argument that is only read   o any argument that may be written
struct MpiCall {
  std::string name;             ///< "Bcast"
  const char* roles = nullptr;  ///< nullptr: the function is not known
  bool fortran = false;
  bool hoistable = false;
  unsigned arguments = 0;  ///< letters of `roles`
};

/// Fills *out where `function` is an MPI function in C or Fortran.
bool find_mpi_call(tree function, MpiCall* out);
/// Fills *out for a call whose arguments are as many as they should be; false for calls through
/// pointers.
bool find_mpi_call(gimple* stmt, MpiCall* out);

/// True where a communicator may be gone after the call.
bool frees_communicators(const MpiCall& call);

/// True where the call may write what argument i points to.
bool writes_argument(const MpiCall& call, gimple* stmt, unsigned i);

/// True where argument i is a pointer to something that is not const, or the function is declared
/// without its parameters.
bool has_pointer_to_variable(gimple* stmt, unsigned i);

/// The role in words: "its root".
const char* words_of(char role);

}  // namespace hoist
