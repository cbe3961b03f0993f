// Bruck's allgather: ceil(log2 P) steps for any P, and one more copy at the end. For short blocks.
#include <algorithm>

#include "coll/algorithms/rotated.h"

namespace fgmpi::coll {

Status allgather_bruck(const Team& team, char* buffer, const ProcessBlocks& blocks) {
  uint32_t n = team.count(), me = team.me();
  // This process's block comes first, then those of the processes after it.
  ProcessBlocks order = rotated(blocks, me);
  auto held = raw_memory(order.total());
  if (order.size(0)) std::memcpy(held.get(), buffer + blocks.offset[me], order.size(0));
  for (uint32_t have = 1; have < n; have *= 2) {
    uint32_t more = std::min(have, n - have);
    FGMPI_TRY(team.exchange((me + n - have) % n, held.get(), order.offset[more], (me + have) % n,
                            held.get() + order.offset[have],
                            order.offset[have + more] - order.offset[have]));
  }
  rotate_out(blocks, me, held.get(), buffer);
  return {};
}

}  // namespace fgmpi::coll
