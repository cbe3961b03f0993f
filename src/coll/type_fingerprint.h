// A number for the type signature of data: the sequence of predefined types that it is made of,
// whatever its layout. Processes that exchange data compare theirs (multicast.h).
//
// Equal signatures have equal numbers: three MPI_INT, and one element of a vector of three. Types
// that hold the same values count as the same, such as MPI_INT, MPI_INT32_T and Fortran's
// MPI_INTEGER. 0 goes with every other: data with MPI_BYTE or MPI_PACKED in it, or none.
//
// Thread rule: one thread. Derived types are looked up on the host stack; nothing here switches.
#pragma once

#include <cstdint>

#include "host/datatype.h"

namespace fgmpi::coll {

/// Of `count` elements.
uint32_t type_fingerprint(const host::Type& type, int64_t count);
/// Of any number of elements, where the two ends know different numbers: types of one predefined
/// type are told apart, and those of several from them.
uint32_t type_fingerprint(const host::Type& type);

}  // namespace fgmpi::coll
