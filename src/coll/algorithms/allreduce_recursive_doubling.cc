// Allreduce by recursive doubling: log2 P exchanges of the whole vector, in the order of processes.
// For small data.
#include <utility>

#include "coll/algorithms/core.h"

namespace fgmpi::coll {

Status allreduce_recursive_doubling(const Team& team, const Reduction& r, char* data) {
  Core core(team);
  OperandWire wire(r);
  Operand spare(*r.type, r.count);
  char *mine = data, *other = spare.at();
  FGMPI_TRY(core.enter(r, wire, data, other));
  if (!core.outside()) {
    for (uint32_t bit = 1; bit < core.size(); bit <<= 1) {
      uint32_t partner = core.id() ^ bit;
      FGMPI_TRY(wire.exchange(team, core.team_rank(partner), mine, other));
      if (partner < core.id()) {
        FGMPI_TRY(combine(r, other, mine, r.count));
      } else {
        FGMPI_TRY(combine(r, mine, other, r.count));
        std::swap(mine, other);
      }
    }
    if (mine != data) FGMPI_TRY(copy_elements(r, mine, data, r.count));
  }
  return core.exit(wire, data);
}

}  // namespace fgmpi::coll
