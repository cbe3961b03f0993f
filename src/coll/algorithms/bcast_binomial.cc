// Broadcast down a binomial tree: log2 P steps. For small data.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status bcast_binomial(const Team& team, uint32_t root, char* data, size_t bytes) {
  uint32_t n = team.count();
  uint32_t self = (team.me() + n - root) % n;  // counted from the root
  uint32_t bit = 1;
  while (bit < n && !(self & bit)) bit <<= 1;
  if (self) FGMPI_TRY(team.recv((self - bit + root) % n, data, bytes));
  for (bit >>= 1; bit; bit >>= 1)
    if (self + bit < n) FGMPI_TRY(team.send((self + bit + root) % n, data, bytes));
  return {};
}

}  // namespace fgmpi::coll
