// Type signatures: the predefined types that a datatype consists of, in order, without their
// places.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "datatype/datatype.h"

namespace fgmpi::datatype {

/// A predefined type, or `inner` in this order, repeated `count` times. Signatures are nested at
/// most 64 deep, however deep types are: a part is repeated at least twice, and there are less than
/// 2^63 predefined types.
struct Signature {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int64_t count = 0;
  std::vector<Signature> inner;
};

/// The signature of one element. Fortran's types of a precision count as the types of their size.
Signature signature_of(const Type& type);

}  // namespace fgmpi::datatype
