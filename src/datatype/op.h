// Reduction operations: loops for predefined operations on predefined types, and those that
// programs make (user_op.h).
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/status.h"
#include "datatype/datatype.h"

namespace fgmpi::datatype {

/// Sets inout[i] = in[i] op inout[i] for `count` elements (MPI-4.0 section 6.9.7). Pairs of a basic
/// type and a predefined operation run on the caller's stack; others on the host stack. Never
/// switches. Errors: MPI_ERR_OP when op is null, or not defined on the type of at least one
/// element.
Status reduce_local(const void* in, void* inout, int64_t count, const Type& type, MPI_Op op);

/// Checks, without reducing, that `op` is an operation that can be used on `count` elements of
/// `type`. Every operation can be used on no elements of any type.
Status check_op(MPI_Op op, int64_t count, const Type& type);

bool is_predefined(MPI_Op op);

/// True for predefined operations; for user operations, the argument of their creation.
bool is_commutative(MPI_Op op);

/// retain() makes a user operation usable past MPI_Op_free until the matching release() (a
/// nonblocking reduction may still need it, MPI-4.0 section 6.9.5). Predefined operations
/// need neither.
void retain(MPI_Op op);
void release(MPI_Op op);

}  // namespace fgmpi::datatype
