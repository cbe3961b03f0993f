// Scatter down a binomial tree: log2 P messages at the root; data is passed on several times. For
// short blocks of many processes.
#include <algorithm>

#include "coll/algorithms/rotated.h"

namespace fgmpi::coll {

Status scatter_binomial(const Team& team, uint32_t root, char* buffer,
                        const ProcessBlocks& blocks) {
  uint32_t n = team.count(), self = (team.me() + n - root) % n;
  ProcessBlocks order = rotated(blocks, root);
  uint32_t bit = 1;
  while (bit < n && !(self & bit)) bit <<= 1;
  uint32_t end = std::min(n, self + bit);
  size_t base = order.offset[self], bytes = order.offset[end] - base;
  auto held = raw_memory(bytes);
  if (self)
    FGMPI_TRY(team.recv((self - bit + root) % n, held.get(), bytes));
  else
    rotate_in(blocks, root, buffer, held.get());
  for (uint32_t step = bit >> 1; step; step >>= 1) {
    uint32_t child = self + step, child_end = std::min(n, child + step);
    if (child >= n) continue;
    FGMPI_TRY(team.send((child + root) % n, held.get() + order.offset[child] - base,
                        order.offset[child_end] - order.offset[child]));
  }
  if (self && order.size(self)) std::memcpy(buffer, held.get(), order.size(self));
  return {};
}

}  // namespace fgmpi::coll
