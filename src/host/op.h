// Reduction operations: the basic pairs in line, user functions and the rest through the host.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/status.h"
#include "host/datatype.h"

namespace fgmpi::host {

/// inout[i] = in[i] op inout[i] for `count` elements (MPI-4.0 section 6.9.7). Basic type/operation
/// pairs run on the caller's stack; others on the host stack. Never switches. Errors: MPI_ERR_OP
/// when op is null or not defined on the type.
Status reduce_local(const void* in, void* inout, int64_t count, const Type& type, MPI_Op op);

/// Checks without reducing: is `op` an operation that can be used on `type`?
Status check_op(MPI_Op op, const Type& type);

bool is_predefined(MPI_Op op);

/// Predefined operations are commutative; user ones as they were created.
bool is_commutative(MPI_Op op);

/// Keeps a user operation usable past MPI_Op_free until the matching release (a nonblocking
/// reduction may still need it, MPI-4.0 section 6.9.5). Predefined operations need neither.
void retain(MPI_Op op);
void release(MPI_Op op);

/// The user frees `op`: true when it is retained; the host then frees it at the last release.
bool defer_free(MPI_Op op);

}  // namespace fgmpi::host
