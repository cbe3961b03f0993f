// Light: barriers, and broadcasts and reductions of few bytes, without arrivals. A member copies its
// contribution into the meeting's scratch when it arrives and the result out of it before it leaves,
// while its own memory is in the cache. So the last arriver touches the scratch only.
//
//   scratch of a reduction    | slot 0 | slot 1 | ... in order of arrival
//   and beside it             | rank   | rank   | ... of the slots
//
// Wins where the data is short; costs one copy more. All members must decide alike whether a
// collective is light, so that depends only on what MPI requires them to agree on. All may switch.
#pragma once

#include "coll/args.h"
#include "coll/move.h"

namespace fgmpi::coll {

inline constexpr size_t kLightBcastBytes = 4096;
inline constexpr int64_t kLightReduceBytes = 1024;

Status light_barrier(Comm* comm, const char* call);

/// `bytes` at `address`, or a segment with gaps. REQUIRES: bytes <= kLightBcastBytes.
Status light_bcast(Comm* comm, char* address, size_t bytes, const Segment* gaps, int root,
                   const char* call);

/// Reduce and allreduce of a predefined operation on a basic type.
struct LightReduce {
  const void* send;
  void* recv;  ///< nullptr where no result goes
  size_t bytes;
  MPI_Datatype type;
  MPI_Op op;
  int root;  ///< -1: allreduce
};
inline bool is_light_reduce(int64_t count, MPI_Datatype type, MPI_Op op) {
  return host::is_basic(type) && (static_cast<uint32_t>(op) & 0xff000000u) == 0x58000000u &&
         count >= 0 && count <= kLightReduceBytes &&
         count * host::basic_size(type) <= kLightReduceBytes;
}
/// That the operation is defined on the type is found by the last who comes, for all. REQUIRES:
/// is_light_reduce.
Status light_reduce(Comm* comm, const LightReduce& r, const char* call);

}  // namespace fgmpi::coll
