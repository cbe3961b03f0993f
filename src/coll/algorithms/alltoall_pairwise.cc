// All-to-all by pairwise exchange: in step k with the processes k after and k before. Traffic is
// bounded. For long blocks.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status alltoall_pairwise(const Team& team, const char* out, char* in, const AlltoallSizes& sizes) {
  uint32_t n = team.count(), me = team.me();
  for (uint32_t step = 1; step < n; ++step) {
    uint32_t to = (me + step) % n, from = (me + n - step) % n;
    FGMPI_TRY(team.exchange(to, out + sizes.out->offset[to], sizes.out->size(to), from,
                            in + sizes.in->offset[from], sizes.in->size(from)));
  }
  return {};
}

}  // namespace fgmpi::coll
