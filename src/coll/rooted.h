// Rooted: blocking gathers and scatters, and their v forms, within a group. A member returns as
// soon as its buffers may be used again, which is all that MPI demands of a collective call.
//
//   gather   A member that arrives before the root leaves few bytes in the meeting's memory and
//            returns; with more bytes it waits for the root, which copies them. A member that
//            arrives after the root copies into the root's buffer itself. When all members of its
//            process have arrived, the root receives from other processes. In those, the last to
//            arrive sends all members' parts.
//   scatter  A root with few bytes sends the other processes theirs, leaves the parts of this
//            process in the meeting's memory and returns; each member copies its part when it
//            arrives or wakes. With more bytes, and in other processes, the last to arrive copies
//            for all.
//
//   scratch of a gather    | rank, bytes, data ... | rank, -1, MemberPart* | ... as they arrive
//   scratch of a scatter   before the root arrives: as of a gather, all with MemberPart*
//   .. once it is laid out | Share of each member here, in rank order | one more | data ... |
//
// A member may return from at most kAhead collectives of a communicator before the others arrive.
//
// When members disagree, all that have not returned yet wait for the last and get the error; so
// does the root when a member's part has another length than expected. All functions may switch.
#pragma once

#include "coll/args.h"

namespace fgmpi::coll {

/// The part that a member gives to a gather or gets from a scatter.
struct MemberPart {
  int32_t rank;
  Segment part;
};

/// What all members must give alike.
struct Rooted {
  CollectiveKind kind;  ///< gather, gatherv, scatter, scatterv
  int root;
  const char* call;
  MPI_Datatype type = MPI_BYTE;  ///< of the caller's own part, where that is given as bytes
};

/// `own`: nullptr when the root has MPI_IN_PLACE; `recv`: nullptr but at the root.
Status rooted_gather(Comm* comm, const Rooted& r, const Segment* own, const CollectiveBuffer* recv);
Status rooted_scatter(Comm* comm, const Rooted& r, const Segment* own,
                      const CollectiveBuffer* send);

/// The type of a run of bytes.
[[gnu::visibility("hidden")]] extern const Type g_byte_type;
inline Segment segment_of_bytes(const void* address, size_t bytes) {
  return {static_cast<char*>(const_cast<void*>(address)), static_cast<int64_t>(bytes),
          &g_byte_type};
}

}  // namespace fgmpi::coll
