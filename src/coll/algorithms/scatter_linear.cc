// Scatter: the root sends every process its block. For few processes or long blocks.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status scatter_linear(const Team& team, uint32_t root, char* buffer, const ProcessBlocks& blocks) {
  if (team.me() != root) return team.recv(root, buffer, blocks.size(team.me()));
  for (uint32_t p = 0; p < team.count(); ++p)
    if (p != root) FGMPI_TRY(team.send(p, buffer + blocks.offset[p], blocks.size(p)));
  return {};
}

}  // namespace fgmpi::coll
