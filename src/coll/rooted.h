// Rooted: blocking gathers and scatters, and their v forms, within a group. Whoever need not wait
// goes on: of a collective call MPI asks no more than that a member may use its buffers again.
//
//   gather   before the root comes, few bytes go into the meeting's memory; more stay where they
//            are, and their member waits for the root. The root takes all that; those who come
//            after it copy into its buffer themselves. Then it receives from other processes. In
//            those, the last to come sends everybody's.
//   scatter  a root with few bytes sends other processes what is theirs, lays out in the meeting's
//            memory what is for this one, and goes on; everybody here takes his part as he comes or
//            wakes. With more bytes, and in other processes, the last to come acts for all.
//
//   scratch of a gather      | rank, bytes, data ... | rank, -1, MemberPart* | ...   in order of arrival
//   scratch of a scatter     the same before the root comes, all MemberPart*
//   .. once it is laid out   | Share of each member here, in rank order | one more | data ... |
//
// Nobody runs ahead of the others without bound: kAhead collectives of a communicator at most.
//
// Members that disagree wait for each other, and those that are still there get the error; so does
// the root when a member's part is longer than expected, unless it has gone on. All may switch.
#pragma once

#include "coll/args.h"

namespace fgmpi::coll {

/// A member's own part of a gather or scatter.
struct MemberPart {
  int32_t rank;
  Segment part;
};

/// What all members give alike, but for errors.
struct Rooted {
  CollectiveKind kind;  ///< gather, gatherv, scatter, scatterv
  int root;
  const char* call;
};

/// `own`: nullptr when the root has MPI_IN_PLACE; `recv`: nullptr but at the root.
Status rooted_gather(Comm* comm, const Rooted& r, const Segment* own, const Side* recv);
Status rooted_scatter(Comm* comm, const Rooted& r, const Segment* own, const Side* send);

/// The type of a run of bytes.
[[gnu::visibility("hidden")]] extern const Type g_byte_type;
inline Segment segment_of_bytes(const void* address, size_t bytes) {
  return {static_cast<char*>(const_cast<void*>(address)), static_cast<int64_t>(bytes),
          &g_byte_type};
}

}  // namespace fgmpi::coll
