// Groups: an ordered set of world ranks behind an MPI_Group handle. A group shares the encoded map
// of the communicator it was made from. Set operations work on encoded maps (src/groupmap) without
// expanding where both sides allow. Thread rule: one thread. Nothing here switches. Invariant: a
// group never changes once made.
#pragma once

#include <mpi.h>

#include <span>

#include "ch4-av-rankmap/rankmap.h"
#include "comm/comm.h"

namespace fgmpi::comm {

struct Group {
  RankMap map;
  int32_t rank = kUnknown;  ///< group_rank() of the proclet that made it
  static constexpr int32_t kUnknown = -0x7fffffff;
  uint32_t session = 0;  ///< as Comm::session
};

/// The group behind a handle, or nullptr. MPI_GROUP_EMPTY is a group.
Group* find_group(MPI_Group handle);
/// Makes a handle for this map, owned by the running rank.
Status make_group(RankMap map, MPI_Group* out, uint32_t session = 0);
void free_group(MPI_Group handle);
/// The rank of the running proclet in the group, or MPI_UNDEFINED.
int32_t group_rank(Group* group);
/// The number of groups in use in this process.
uint32_t group_count();

// ---- Operations on maps of world ranks (MPI-4.0 section 7.3) ------------------------------------
/// The ranks of `map` that are listed, in the list's order / all ranks but those. Errors:
/// MPI_ERR_RANK (out of range or twice).
Status include(const RankMap& map, std::span<const int32_t> ranks, RankMap* out);
Status exclude(const RankMap& map, std::span<const int32_t> ranks, RankMap* out);
/// As include() and exclude(), by triplets (first, last, stride). A single triplet is not expanded
/// into a list.
Status range_include(const RankMap& map, const int (*ranges)[3], int count, RankMap* out);
Status range_exclude(const RankMap& map, const int (*ranges)[3], int count, RankMap* out);
/// All of a, then those of b that are not in a / those of a that are in b / those of a that are not
/// in b.
RankMap unite(const RankMap& a, const RankMap& b);
RankMap intersect(const RankMap& a, const RankMap& b);
RankMap subtract(const RankMap& a, const RankMap& b);
/// True if every member of `part` is a member of `whole`. Regular maps are compared without
/// listing members.
bool contains(const RankMap& whole, const RankMap& part);
/// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare(const RankMap& a, const RankMap& b);
/// Sets out[i] to the rank in `to` of the process that has rank in[i] in `from`, or to
/// MPI_UNDEFINED when `to` does not contain it. MPI_PROC_NULL stays. Errors: MPI_ERR_RANK.
Status translate(const RankMap& from, std::span<const int32_t> in, const RankMap& to, int32_t* out);

}  // namespace fgmpi::comm
