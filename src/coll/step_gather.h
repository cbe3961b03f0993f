// Level two of gathers and scatters: one message between the root's process and each other process,
// with the parts of that process's members in rank order. Blocking forms (rooted.h) and the others
// use it.
//
// Thread rule: one thread; all may switch.
#pragma once

#include <boost/container/small_vector.hpp>

#include "coll/rooted.h"

namespace fgmpi::coll {

/// Members' own parts, by rank.
using MemberParts = boost::container::small_vector<MemberPart, 16>;

/// Receives, at the root's process, the parts of other processes into the root's buffer. Does
/// nothing where there are no other processes.
Status gather_from_others(SharedComm* shared, const comm::Meeting* m, const CollectiveBuffer& recv);
/// Sends this process's parts to the root's process. `regular`: a gather, whose parts have
/// one length.
Status gather_to_root(SharedComm* shared, const comm::Meeting* m, int root, bool regular,
                      const MemberParts& members);

/// Sends, at the root's process, the parts of other processes from the root's buffer. Does nothing
/// where there are no other processes.
Status scatter_to_others(SharedComm* shared, const comm::Meeting* m, int root,
                         const CollectiveBuffer& send);
/// Receives this process's parts from the root's process. `regular`: a scatter, whose parts have
/// one length; `type`: of their elements, where parts are given as bytes.
Status scatter_from_root(SharedComm* shared, const comm::Meeting* m, int root, bool regular,
                         const MemberParts& members, MPI_Datatype type = MPI_BYTE);

}  // namespace fgmpi::coll
