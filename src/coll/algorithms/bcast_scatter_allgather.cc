// Broadcast of long data: scatter equal parts down a binomial tree, then allgather them round a
// ring. A process moves 2 bytes (P-1)/P, less than in a tree of whole copies.
#include <algorithm>

#include "coll/algorithms.h"

namespace fgmpi::coll {

Status bcast_scatter_allgather(const Team& team, uint32_t root, char* data, size_t bytes) {
  uint32_t n = team.count();
  uint32_t self = (team.me() + n - root) % n;
  size_t part = (bytes + n - 1) / n;
  auto offset = [&](uint32_t i) { return std::min(bytes, part * i); };

  // Binomial scatter: a node has the parts of its subtree [self, self + bit).
  uint32_t bit = 1;
  while (bit < n && !(self & bit)) bit <<= 1;
  if (self) {
    size_t from = offset(self), to = offset(std::min(n, self + bit));
    FGMPI_TRY(team.recv((self - bit + root) % n, data + from, to - from));
  }
  for (bit >>= 1; bit; bit >>= 1) {
    if (self + bit >= n) continue;
    size_t from = offset(self + bit), to = offset(std::min(n, self + 2 * bit));
    FGMPI_TRY(team.send((self + bit + root) % n, data + from, to - from));
  }
  uint32_t after = (team.me() + 1) % n, before = (team.me() + n - 1) % n;
  for (uint32_t step = 0; step + 1 < n; ++step) {
    uint32_t out = (self + n - step) % n, in = (self + n - step - 1) % n;
    FGMPI_TRY(team.exchange(after, data + offset(out), offset(out + 1) - offset(out), before,
                            data + offset(in), offset(in + 1) - offset(in)));
  }
  return {};
}

}  // namespace fgmpi::coll
