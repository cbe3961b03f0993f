// A number for the type signature of data: the sequence of predefined types that it consists of, in
// any layout. Processes that exchange data compare these numbers (src/multicast).
//
// Equal signatures have equal numbers: three MPI_INT, and one element of a vector of three. Types
// that hold the same values count as equal, such as MPI_INT, MPI_INT32_T and Fortran's MPI_INTEGER.
// The number 0 matches every other: data with MPI_BYTE or MPI_PACKED in it, or no data, has it.
//
// Thread rule: one thread. Derived types are examined on the host stack; nothing here switches.
#pragma once

#include <cstdint>

#include "datatype/datatype.h"

namespace fgmpi::coll {

/// The number of `count` elements.
uint32_t type_fingerprint(const datatype::Type& type, int64_t count);
/// The number of any count of elements, for ends that know different counts: it distinguishes types
/// made of one predefined type, and those from types made of several.
uint32_t type_fingerprint(const datatype::Type& type);

}  // namespace fgmpi::coll
