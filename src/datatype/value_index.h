// The predefined datatypes without names for MPI_MINLOC and MPI_MAXLOC: a value of one type and an
// index of another, as a C structure of both (MPI-4.1 section 6.9.4).
//
//   handle    1000 11 | all ones 10 | value's number 8 | index's number 8
//
// The handles are the last direct ones of MPICH's range. A handle says which types its pair is made
// of, so it is the same in all processes. The number of a type is the low byte of its handle.
//
// Thread rule: one thread. Nothing here switches. Invariant: a type lives until its process ends.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/status.h"
#include "datatype/basic_type.h"
#include "datatype/derived_type.h"
#include "datatype/reducer.h"

namespace fgmpi::datatype {

/// The types that a handle's pair is made of. REQUIRES: value_index_type() finds the handle.
MPI_Datatype value_of_pair(MPI_Datatype handle);
MPI_Datatype index_of_pair(MPI_Datatype handle);

/// The object behind a handle; nullptr where the handle is that of no such type.
DerivedType* value_index_type(MPI_Datatype handle);
/// The loop of MPI_MAXLOC, or else of MPI_MINLOC. REQUIRES: value_index_type() finds the handle.
Reducer value_index_reducer(MPI_Datatype handle, bool maximum);

/// Sets *pair to the predefined type of a value and its index: one with a name where there is one,
/// MPI_DATATYPE_NULL where there is none. Errors: MPI_ERR_TYPE for handles that are no datatypes.
Status find_value_index(MPI_Datatype value, MPI_Datatype index, MPI_Datatype* pair);

}  // namespace fgmpi::datatype
