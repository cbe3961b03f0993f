// Attributes of communicators and windows: what the two have in common. A window's attributes are
// kept with the communicator of its own.
#pragma once

#include "comm/attr.h"
#include "comm/comm.h"

namespace fgmpi::mpi {

/// An object with attributes.
struct Attributed {
  comm::KeyvalOf of;
  comm::Comm* keeper;  ///< has the list
  int handle;          ///< what attribute functions get
};

/// Whether a keyval, in C or Fortran, is one of the predefined attributes of such objects (MPICH's
/// numbers).
bool is_predefined(comm::KeyvalOf of, int keyval);

/// Setting and deleting may switch (delete functions) and return an error code. Predefined
/// attributes cannot be changed.
int set_attribute(const char* call, const Attributed& object, int keyval, void* value,
                  comm::AttrKind kind);
int delete_attribute(const char* call, const Attributed& object, int keyval);
/// *found: whether there is a value. Of attributes that are not predefined.
Status get_attribute(const Attributed& object, int keyval, comm::AttrKind kind, void* value,
                     bool* found);
/// Frees the keyval and makes it MPI_KEYVAL_INVALID. Errors: MPI_ERR_KEYVAL, also for a predefined
/// attribute.
Status free_keyval(comm::KeyvalOf of, int* keyval);

}  // namespace fgmpi::mpi
