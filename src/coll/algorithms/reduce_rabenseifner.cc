// Rabenseifner's reduction: reduce-scatter by recursive halving, then each process sends its part
// to the root. For long vectors of commutative operations.
#include "coll/algorithms/core.h"

namespace fgmpi::coll {

Status reduce_rabenseifner(const Team& team, uint32_t root, const Reduction& r, char* data) {
  Core core(team);
  OperandWire wire(r);
  Operand spare(*r.type, r.count);
  FGMPI_TRY(core.enter(r, wire, data, spare.at()));
  std::vector<int64_t> begin(core.size() + 1);
  for (uint32_t i = 0; i <= core.size(); ++i) begin[i] = r.count * i / core.size();
  if (!core.outside()) FGMPI_TRY(halve(team, core, r, data, spare.at(), begin));
  int64_t size = r.type->size();
  auto part = [&](uint32_t id) { return static_cast<size_t>((begin[id + 1] - begin[id]) * size); };
  if (team.me() != root)
    return core.outside() ? Status()
                          : team.send(root, data + begin[core.id()] * size, part(core.id()));
  for (uint32_t id = 0; id < core.size(); ++id)
    if (core.team_rank(id) != root)
      FGMPI_TRY(team.recv(core.team_rank(id), data + begin[id] * size, part(id)));
  return {};
}

}  // namespace fgmpi::coll
