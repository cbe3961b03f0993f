// Barriers, and broadcasts and reductions of short data, on the short path of meetings
// (comm/meeting.h). A member copies its contribution into the meeting's scratch when it arrives,
// and the result out of it before it leaves, while its own memory is in the cache. The member that
// arrives last reads and writes the scratch only.
//
//   scratch of a reduction    | slot 0 | slot 1 | ... in order of arrival | their ranks |
//
// The short path wins where the data is short; it costs one more copy. All members must use the
// same path, so the choice depends only on arguments that MPI requires to be the same at all of
// them. All functions may switch.
#pragma once

#include "coll/args.h"
#include "coll/move.h"
#include "host/handle_bits.h"

namespace fgmpi::coll {

inline constexpr size_t kShortBcastBytes = 4096;
inline constexpr int64_t kShortReduceBytes = 1024;

Status short_barrier(Comm* comm, const char* call);

/// Broadcasts `bytes` of elements of `type` at `address`, or a segment with gaps. REQUIRES: bytes
/// <= kShortBcastBytes.
Status short_bcast(Comm* comm, char* address, size_t bytes, MPI_Datatype type, const Segment* gaps,
                   int root, const char* call);

/// Reduce and allreduce of a predefined operation on a basic type.
struct ShortReduce {
  const void* send;
  void* recv;  ///< nullptr at members that get no result
  size_t bytes;
  MPI_Datatype type;
  MPI_Op op;
  int root;  ///< -1: allreduce
};
/// kShortReduceBytes; -1: no reduction uses the short path.
[[gnu::visibility("hidden")]] extern int64_t g_short_reduce_bytes;
inline bool is_short_reduce(int64_t count, MPI_Datatype type, MPI_Op op) {
  return datatype::is_basic(type) && host::is_builtin(op, host::HandleObject::kOp) && count >= 0 &&
         count <= kShortReduceBytes && count * datatype::basic_size(type) <= g_short_reduce_bytes;
}
/// The member that arrives last checks, for all, that the operation is defined on the type of the
/// elements, if there are any.
/// REQUIRES: is_short_reduce().
Status short_reduce(Comm* comm, const ShortReduce& r, const char* call);

}  // namespace fgmpi::coll
