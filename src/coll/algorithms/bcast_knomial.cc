// Broadcast down a tree of degree k = 4: fewer levels than binomial, more messages a process. For
// small data where a message's latency outweighs the cost of issuing it.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status bcast_knomial(const Team& team, uint32_t root, char* data, size_t bytes) {
  constexpr uint32_t k = 4;
  uint32_t n = team.count();
  uint32_t self = (team.me() + n - root) % n;
  // The lowest non-zero digit of self (radix k) is its level in the tree.
  uint32_t level = 1;
  while (level < n && self % (level * k) == 0) level *= k;
  if (self) {
    uint32_t parent = self - self % (level * k);
    FGMPI_TRY(team.recv((parent + root) % n, data, bytes));
  }
  for (level /= k; level; level /= k)
    for (uint32_t digit = 1; digit < k; ++digit)
      if (self + digit * level < n)
        FGMPI_TRY(team.send((self + digit * level + root) % n, data, bytes));
  return {};
}

}  // namespace fgmpi::coll
