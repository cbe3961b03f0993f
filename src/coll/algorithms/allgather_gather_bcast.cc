// Allgather as a gather to process 0 and a broadcast: 2 (P - 1) messages in all. For many processes
// on few cores.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status allgather_gather_bcast(const Team& team, char* buffer, const ProcessBlocks& blocks) {
  char* mine = team.me() == 0 ? buffer : buffer + blocks.offset[team.me()];
  FGMPI_TRY(gather_binomial(team, 0, mine, blocks));
  return bcast_binomial(team, 0, buffer, blocks.total());
}

}  // namespace fgmpi::coll
