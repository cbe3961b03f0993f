// Attributes cached on communicators, datatypes and windows (MPI-4.0 section 7.7): keyvals, values,
// copy and delete functions.
//
// Values are stored with the way in which they were set, as languages differ in what a value is
// (section 19.3.7): a C pointer, a Fortran address-sized integer, a Fortran default integer.
// Reading converts: C reads an integer through a pointer to it, which stays valid while the
// attribute is set.
//
// Thread rule: one thread. Functions that run user callbacks may switch; their comments say so.
// Invariant: a keyval lives while an attribute uses it, also after MPI_Comm_free_keyval.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/status.h"
#include "comm/extras.h"

namespace fgmpi::comm {

/// How a value was set or is read; the numbers are those of the host's bindings (bit 0: an
/// integer).
enum AttrKind : uint8_t { kAttrPointer = 0, kAttrAint = 1, kAttrInt = 3 };

/// The objects that a keyval's attributes are cached on.
enum class KeyvalOf : uint8_t { kComm, kType, kWin };

/// The bindings' way to call user functions of another language (libmpichfort sets them).
using CopyProxy = int (*)(void* user, int handle, int keyval, void* extra, int kind, void* value,
                          void** out, int* flag);
using DeleteProxy = int (*)(void* user, int handle, int keyval, int kind, void* value, void* extra);

/// Makes a new keyval. `copy` and `remove` are the user's C functions, or null.
Status create_keyval(KeyvalOf of, void* copy, void* remove, void* extra, int* keyval);
/// Frees a keyval for its user. The keyval is dropped when no attribute uses it any more.
/// Errors: MPI_ERR_KEYVAL.
Status free_keyval(KeyvalOf of, int keyval);
/// Makes the library call the keyval's functions through these proxies. With `extra_by_address`,
/// the keyval was created with the address of its extra state, a variable of the caller; from now
/// on its functions get the address of a copy of the value that the variable has now. Returns false
/// for an unknown keyval.
bool set_proxies(int keyval, CopyProxy copy, DeleteProxy remove, bool extra_by_address);

/// Sets an attribute. An earlier value is deleted first; where its delete function fails, *code
/// gets that function's error code. May switch.
Status set_attribute(KeyvalOf of, Attributes* list, int handle, int keyval, void* value,
                     AttrKind kind, int* code);
/// Reads a value as `kind` demands. *found is false when it is unset. Errors: MPI_ERR_KEYVAL.
Status get_attribute(KeyvalOf of, Attributes* list, int keyval, AttrKind kind, void* value,
                     bool* found);
Status delete_attribute(KeyvalOf of, Attributes* list, int handle, int keyval, int* code);
/// Copies the attributes whose copy function asks for it, in the order they were set. May
/// switch. Returns the first failing function's code (the copies made so far stay in *to),
/// else MPI_SUCCESS.
int copy_attributes(Attributes* from, int handle, Attributes* to);
/// Deletes all attributes, latest first (section 11.2.4). May switch. Returns the first failing
/// function's code; the attribute for which it failed stays, and so do all that were set before it.
int delete_attributes(Attributes* list, int handle);
/// Drops all attributes without calling their functions: the creation of the communicator that they
/// were copied to has failed.
void drop_attributes(Attributes* list);

/// Writes an integer value (predefined attributes) as `kind` reads it; C gets a pointer to
/// *storage.
void return_integer(intptr_t* storage, AttrKind kind, void* value);

/// The number of keyvals in use, for tests.
uint32_t keyval_count();

}  // namespace fgmpi::comm
