// Basic elements of datatypes as MPI_Get_elements counts them (MPI-4.0 section 5.1.11): a pair
// counts as two.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/status.h"
#include "datatype/datatype.h"

namespace fgmpi::datatype {

/// The basic elements in one element of this datatype.
int64_t elements_of(const Type& type);

/// The bytes of the first `elements` basic elements of data of this datatype. Errors: MPI_ERR_ARG
/// when the datatype has no elements and `elements` is not 0; MPI_ERR_COUNT when the bytes need
/// more than 63 bits.
Status bytes_of_elements(const Type& type, int64_t elements, int64_t* bytes);

/// The whole basic elements in the first `bytes` bytes of data of this datatype. `rest`: bytes
/// behind the last one.
void elements_in_bytes(const Type& type, int64_t bytes, int64_t* elements, int64_t* rest);

}  // namespace fgmpi::datatype
