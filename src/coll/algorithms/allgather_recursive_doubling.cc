// Allgather by recursive doubling: log2 P steps without a final copy. For powers of two; other
// teams use Bruck's.
#include <bit>

#include "coll/algorithms.h"

namespace fgmpi::coll {

Status allgather_recursive_doubling(const Team& team, char* buffer, const ProcessBlocks& blocks) {
  uint32_t n = team.count(), me = team.me();
  if (!std::has_single_bit(n)) return allgather_bruck(team, buffer, blocks);
  for (uint32_t bit = 1; bit < n; bit <<= 1) {
    uint32_t mine = me & ~(bit - 1), theirs = mine ^ bit;
    FGMPI_TRY(team.exchange(me ^ bit, buffer + blocks.offset[mine],
                            blocks.offset[mine + bit] - blocks.offset[mine], me ^ bit,
                            buffer + blocks.offset[theirs],
                            blocks.offset[theirs + bit] - blocks.offset[theirs]));
  }
  return {};
}

}  // namespace fgmpi::coll
