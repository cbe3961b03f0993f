// All-to-all at once: all receives are posted, then all sends are made. For few processes or
// short blocks.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status alltoall_linear(const Team& team, const char* out, char* in, const AlltoallSizes& sizes) {
  uint32_t n = team.count(), me = team.me();
  std::vector<pt2pt::Request*> requests(n - 1);
  for (uint32_t step = 1; step < n; ++step) {
    uint32_t from = (me + n - step) % n;
    FGMPI_TRY(
        team.irecv(from, in + sizes.in->offset[from], sizes.in->size(from), &requests[step - 1]));
  }
  Status first;
  for (uint32_t step = 1; step < n; ++step) {
    uint32_t to = (me + step) % n;
    Status sent = team.send(to, out + sizes.out->offset[to], sizes.out->size(to));
    if (first.ok()) first = std::move(sent);
  }
  return team.finish(&requests, std::move(first));
}

}  // namespace fgmpi::coll
