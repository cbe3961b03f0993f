// Allreduce and reduce_scatter whose second half goes by IP multicast: the result is made at process 0, which sends it to
// all others at once.
#include "coll/algorithms.h"
#include "coll/move.h"
#include "coll/multicast.h"
#include "coll/selector.h"

namespace fgmpi::coll {

Status allreduce_multicast(const Team& team, const Multicast& multicast, const Reduction& r,
                           char* data) {
  FGMPI_TRY(team_reduce(team, 0, r, data));
  if (r.dense()) return bcast_multicast(team, multicast, 0, data, r.bytes());
  Memory packed = raw_memory(r.bytes());
  const Segment whole{data, r.count, r.type};
  if (team.me() == 0) FGMPI_TRY(pack(whole, packed.get()));
  FGMPI_TRY(bcast_multicast(team, multicast, 0, packed.get(), r.bytes()));
  return team.me() == 0 ? Status() : unpack(packed.get(), static_cast<int64_t>(r.bytes()), whole);
}

Status reduce_scatter_multicast(const Team& team, const Multicast& multicast, const Reduction& r,
                                char* data, const Blocks&) {
  FGMPI_TRY(team_reduce(team, 0, r, data));
  return bcast_multicast(team, multicast, 0, data, r.bytes());
}

}  // namespace fgmpi::coll
