// Reduce-scatter by recursive halving: log2 P exchanges, halving in size. The operation
// must commute.
#include "coll/algorithms/core.h"

namespace fgmpi::coll {

Status reduce_scatter_halving(const Team& team, const Reduction& r, char* data,
                              const ProcessBlocks& blocks) {
  Core core(team);
  OperandWire wire(r);
  Operand spare(*r.type, r.count);
  FGMPI_TRY(core.enter(r, wire, data, spare.at()));
  uint32_t me = team.me();
  if (core.outside()) return team.recv(me + 1, data + blocks.offset[me], blocks.size(me));
  std::vector<int64_t> begin(core.size() + 1);
  for (uint32_t id = 0; id <= core.size(); ++id)
    begin[id] = static_cast<int64_t>(blocks.offset[core.first_team_rank(id)]) / r.type->size();
  FGMPI_TRY(halve(team, core, r, data, spare.at(), begin));
  if (!core.has_guest()) return {};
  return team.send(me - 1, data + blocks.offset[me - 1], blocks.size(me - 1));
}

}  // namespace fgmpi::coll
