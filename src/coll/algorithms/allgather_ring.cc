// Allgather round a ring: P - 1 steps of one block, between neighbours only. For long blocks.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status allgather_ring(const Team& team, char* buffer, const ProcessBlocks& blocks) {
  uint32_t n = team.count(), me = team.me();
  for (uint32_t step = 0; step + 1 < n; ++step) {
    uint32_t out = (me + n - step) % n, in = (me + 2 * n - step - 1) % n;
    FGMPI_TRY(team.exchange((me + 1) % n, buffer + blocks.offset[out], blocks.size(out),
                            (me + n - 1) % n, buffer + blocks.offset[in], blocks.size(in)));
  }
  return {};
}

}  // namespace fgmpi::coll
