// Allreduce as a reduction to process 0 and a broadcast: fewest messages, 2 (P - 1), with twice the
// steps of recursive doubling. For operands with gaps, and for many processes on few cores.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status allreduce_reduce_bcast(const Team& team, const Reduction& r, char* data) {
  FGMPI_TRY(reduce_binomial(team, 0, r, data));
  if (r.dense()) return bcast_binomial(team, 0, data, r.bytes());
  auto packed = raw_memory(r.bytes());
  Segment whole{data, r.count, r.type};
  if (team.me() == 0) FGMPI_TRY(pack(whole, packed.get()));
  FGMPI_TRY(bcast_binomial(team, 0, packed.get(), r.bytes()));
  return team.me() == 0 ? Status() : unpack(packed.get(), static_cast<int64_t>(r.bytes()), whole);
}

}  // namespace fgmpi::coll
