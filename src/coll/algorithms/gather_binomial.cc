// Gather up a binomial tree: log2 P messages at the root instead of P - 1; data is passed on
// several times. For short blocks of many processes.
#include <algorithm>

#include "coll/algorithms/rotated.h"

namespace fgmpi::coll {

Status gather_binomial(const Team& team, uint32_t root, char* buffer, const ProcessBlocks& blocks) {
  uint32_t n = team.count(), self = (team.me() + n - root) % n;
  ProcessBlocks order = rotated(blocks, root);
  uint32_t bit = 1;
  while (bit < n && !(self & bit)) bit <<= 1;  // the subtree is [self, self + bit)
  uint32_t end = std::min(n, self + bit);
  size_t base = order.offset[self];
  auto held = raw_memory(order.offset[end] - base);
  const char* own = self ? buffer : buffer + blocks.offset[root];
  if (order.size(self)) std::memcpy(held.get(), own, order.size(self));
  for (uint32_t step = 1; step < bit && self + step < n; step <<= 1) {
    uint32_t child = self + step, child_end = std::min(n, child + step);
    FGMPI_TRY(team.recv((child + root) % n, held.get() + order.offset[child] - base,
                        order.offset[child_end] - order.offset[child]));
  }
  if (self) return team.send((self - bit + root) % n, held.get(), order.offset[end] - base);
  rotate_out(blocks, root, held.get(), buffer);
  return {};
}

}  // namespace fgmpi::coll
