// The loops behind predefined operations, for callers that apply an operation to many elements or
// to one at a time.
//
// Thread rule: as in op.h. Nothing here switches.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/status.h"
#include "datatype/datatype.h"

namespace fgmpi::datatype {

/// Sets inout[i] = in[i] op inout[i] for i in [0, count). Gaps of pairs are neither read
/// nor written.
using Reducer = void (*)(const void* in, void* inout, int64_t count);

/// Finds the loop of an accumulate: one of MPI_MAX to MPI_MAXLOC. Accumulates accept the types
/// that reductions accept; and bytes, packed data and logical values as integers of their size,
/// as MPICH's accumulates do (docs/conformance.md). Errors: MPI_ERR_OP when op is not defined on
/// the type.
Status find_accumulate(MPI_Op op, const Type& type, Reducer* out);

}  // namespace fgmpi::datatype
