// Attributes of communicators and windows: what the two have in common. A window's attributes are
// stored at the window's own communicator.
#pragma once

#include "comm/attr.h"
#include "comm/comm.h"

namespace fgmpi::mpi {

/// An object with attributes.
struct Attributed {
  comm::KeyvalOf of;
  comm::Comm* keeper;  ///< holds the list of attributes
  int handle;          ///< the handle that attribute functions receive
};

/// True where a keyval, in C or Fortran, is one of the predefined attributes of such objects
/// (MPICH's numbers).
bool is_predefined(comm::KeyvalOf of, int keyval);

/// Setting and deleting may switch (delete functions) and return an error code. Predefined
/// attributes cannot be changed.
int set_attribute(const char* call, const Attributed& object, int keyval, void* value,
                  comm::AttrKind kind);
int delete_attribute(const char* call, const Attributed& object, int keyval);
/// Reads an attribute that is not predefined. *found: whether there is a value.
Status get_attribute(const Attributed& object, int keyval, comm::AttrKind kind, void* value,
                     bool* found);
/// Frees the keyval and makes it MPI_KEYVAL_INVALID. Errors: MPI_ERR_KEYVAL, also for a predefined
/// attribute.
Status free_keyval(comm::KeyvalOf of, int* keyval);

}  // namespace fgmpi::mpi
