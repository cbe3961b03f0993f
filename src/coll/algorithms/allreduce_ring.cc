// Allreduce round a ring: reduce-scatter, then allgather; 2 (P - 1) steps of bytes / P. For the
// longest vectors of commutative operations, any P.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status allreduce_ring(const Team& team, const Reduction& r, char* data) {
  ProcessBlocks blocks;
  for (uint32_t p = 0; p <= team.count(); ++p)
    blocks.offset.push_back(static_cast<size_t>(r.count * p / team.count() * r.type->size()));
  FGMPI_TRY(reduce_scatter_ring(team, r, data, blocks));
  return allgather_ring(team, data, blocks);
}

}  // namespace fgmpi::coll
