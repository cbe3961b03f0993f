// Reduce-scatter round a ring: P - 1 steps, each of which combines one block and passes it on. The
// operation must commute.
#include <algorithm>

#include "coll/algorithms.h"

namespace fgmpi::coll {

Status reduce_scatter_ring(const Team& team, const Reduction& r, char* data,
                           const ProcessBlocks& blocks) {
  uint32_t n = team.count(), me = team.me();
  size_t largest = 0;
  for (uint32_t p = 0; p < n; ++p) largest = std::max(largest, blocks.size(p));
  auto incoming = raw_memory(largest);
  for (uint32_t step = 0; step + 1 < n; ++step) {
    uint32_t out = (me + 2 * n - 1 - step) % n, in = (me + 2 * n - 2 - step) % n;
    FGMPI_TRY(team.exchange((me + 1) % n, data + blocks.offset[out], blocks.size(out),
                            (me + n - 1) % n, incoming.get(), blocks.size(in)));
    if (blocks.size(in))
      FGMPI_TRY(combine(r, incoming.get(), data + blocks.offset[in],
                        static_cast<int64_t>(blocks.size(in)) / r.type->size()));
  }
  return {};
}

}  // namespace fgmpi::coll
