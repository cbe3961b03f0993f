// Barrier up and down a binary tree: 2 (P - 1) messages in all, twice the time of dissemination.
// For many processes on few cores, where every message costs a wake-up of its receiver.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status barrier_tree(const Team& team) {
  char unused = 0;
  uint32_t me = team.me(), n = team.count();
  for (uint32_t child = 2 * me + 1; child <= 2 * me + 2 && child < n; ++child)
    FGMPI_TRY(team.recv(child, &unused, 0));
  if (me > 0) {
    FGMPI_TRY(team.send((me - 1) / 2, &unused, 0));
    FGMPI_TRY(team.recv((me - 1) / 2, &unused, 0));
  }
  for (uint32_t child = 2 * me + 1; child <= 2 * me + 2 && child < n; ++child)
    FGMPI_TRY(team.send(child, &unused, 0));
  return {};
}

}  // namespace fgmpi::coll
