// Level two of gathers and scatters: one message between the root's process and each other, with
// the parts of that process's members in rank order. For those that block (rooted.h) and the
// others.
//
// Thread rule: one thread; all may switch.
#pragma once

#include <boost/container/small_vector.hpp>

#include "coll/rooted.h"

namespace fgmpi::coll {

/// Members' own parts by rank.
using MemberParts = boost::container::small_vector<MemberPart, 16>;

/// At the root's process: what is others' into the root's buffer. Nothing where there are none.
Status gather_from_others(SharedComm* shared, const comm::Meeting* m, const Side& recv);
/// Elsewhere. `regular`: a gather, whose parts have one length.
Status gather_to_root(SharedComm* shared, const comm::Meeting* m, int root, bool regular,
                      const MemberParts& members);

/// At the root's process: what is others' out of the root's buffer. Nothing where there are none.
Status scatter_to_others(SharedComm* shared, const comm::Meeting* m, int root, const Side& send);
/// Elsewhere. `regular`: a scatter, whose parts have one length; `type`: of their elements, where
/// parts are given as bytes.
Status scatter_from_root(SharedComm* shared, const comm::Meeting* m, int root, bool regular,
                         const MemberParts& members, MPI_Datatype type = MPI_BYTE);

}  // namespace fgmpi::coll
