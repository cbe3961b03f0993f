// Barrier by dissemination: in step k every process notifies the process 2^k further on. ceil(log2
// P) steps with P messages each; the shortest time.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status barrier_dissemination(const Team& team) {
  uint32_t n = team.count();
  char unused = 0;
  for (uint32_t distance = 1; distance < n; distance *= 2) {
    uint32_t to = (team.me() + distance) % n, from = (team.me() + n - distance) % n;
    FGMPI_TRY(team.exchange(to, &unused, 0, from, &unused, 0));
  }
  return {};
}

}  // namespace fgmpi::coll
