// Allgather by IP multicast: each process sends its block to all others. A long block waits at its
// root until every process has posted a receive for it. Receives are posted in the order of
// processes, two ahead, so two blocks are under way at once, and the network is not flooded.
#include "coll/algorithms.h"
#include "multicast/multicast.h"

namespace fgmpi::coll {

using multicast::MulticastTransfer;

Status allgather_multicast(const Team& team, const Multicast& multicast, char* buffer,
                           const ProcessBlocks& blocks) {
  constexpr uint32_t kAhead = 2;
  const uint32_t n = team.count(), me = team.me();
  const std::unique_ptr<MulticastTransfer[]> transfers(new MulticastTransfer[n]);
  multicast.start_send(buffer + blocks.offset[me], blocks.size(me), 0, &transfers[me]);
  Status status;
  for (uint32_t p = 0, first = 0; first < n; ++p) {
    if (p < n && p != me && status.ok())
      multicast.start_recv(p, buffer + blocks.offset[p], blocks.size(p), 0, &transfers[p]);
    else if (p < n && p != me)
      break;
    if (p < kAhead) continue;
    if (first != me) status = multicast.finish_after(std::move(status), {&transfers[first]});
    ++first;
  }
  return multicast.finish_after(std::move(status), {&transfers[me]});
}

}  // namespace fgmpi::coll
