// Broadcast by IP multicast: the root's link carries the data once, however many hosts there are.
// Used from four hosts and some packets on.
#include "coll/algorithms.h"
#include "multicast/multicast.h"

namespace fgmpi::coll {

Status bcast_multicast(const Team& team, const Multicast& multicast, uint32_t root, char* data,
                       size_t bytes) {
  return team.me() == root ? multicast.send(data, bytes) : multicast.recv(root, data, bytes);
}

}  // namespace fgmpi::coll
