// Basic elements of datatypes as MPI_Get_elements counts them (MPI-4.0 section 5.1.11): a pair
// counts as two.
//
// Thread rule: one thread. The hosted MPI gives the contents of a datatype, on the host stack;
// nothing here switches. The host itself miscounts: it counts pairs that are cut as whole ones, or
// divides by zero.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/status.h"

namespace fgmpi::datatype {

/// The bytes of the first `elements` basic elements of data of this datatype, committed or not.
/// Errors: MPI_ERR_TYPE; MPI_ERR_ARG when the datatype has no elements and `elements` is not 0;
/// MPI_ERR_COUNT when the bytes need more than 63 bits.
Status bytes_of_elements(MPI_Datatype datatype, int64_t elements, int64_t* bytes);

/// The whole basic elements in the first `bytes` bytes of data of this datatype, committed or not.
/// `rest`: bytes behind the last one. Errors: MPI_ERR_TYPE.
Status elements_in_bytes(MPI_Datatype datatype, int64_t bytes, int64_t* elements, int64_t* rest);

}  // namespace fgmpi::datatype
