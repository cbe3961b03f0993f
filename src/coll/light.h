// Light: barriers, and broadcasts and reductions of few bytes, without arrivals. A member puts its contribution into
// the meeting as it comes and takes the result as it goes, while its own memory is in the cache anyway; what the
// last arriver does then needs nobody's memory but the meeting's.
//
//   scratch of a reduction    | slot 0 | slot 1 | ... in order of arrival | ranks of the slots beside it
//
// Wins: always, where the data is short; costs one copy of it more. Every member must find the same answer to
// "is it light", so that depends only on what MPI makes them agree on. All may switch.
#pragma once

#include "coll/args.h"

namespace fgmpi::coll {

inline constexpr int64_t kLightBcastBytes = 4096;
inline constexpr int64_t kLightReduceBytes = 1024;

Status light_barrier(Comm* comm, const char* call);

bool is_light_bcast(const Args& args);
Status light_bcast(Comm* comm, Args* args, const char* call);

/// Reduce and allreduce.
bool is_light_reduce(Comm* comm, const Args& args);
Status light_reduce(Comm* comm, Args* args, const char* call);

}  // namespace fgmpi::coll
