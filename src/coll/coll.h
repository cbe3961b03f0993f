// Collectives: blocking entry points on a communicator. Each may switch.
//
// Level one: collocated members meet (comm/meeting.h), without messages. Level two: one actor a process talks
// to the other processes' (pt2pt::process_send/recv), as O(P) messages (HPDC'10 section 4.1). One file an
// algorithm; selector.cc has the table of conditions. Nonblocking and persistent forms are the same acts run on a
// helper coroutine.
// Errors: argument errors are the bindings'; an error inside (truncation, an op not defined on the type)
// is returned at every member of the process.
#pragma once

#include <mpi.h>

#include "comm/comm.h"
#include "host/op.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::coll {

using comm::Comm;
using pt2pt::Buffer;

Status barrier(Comm* comm, const char* call);
/// Broadcast of raw bytes for the library's own use (root: rank in comm).
Status bcast_bytes(Comm* comm, void* data, size_t bytes, int root, const char* call);
/// In-place allreduce of int64 values by minimum / maximum / sum, for the library's own use.
Status allreduce_int64(Comm* comm, int64_t* values, int count, MPI_Op op, const char* call);

}  // namespace fgmpi::coll
