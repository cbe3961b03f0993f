// Rabenseifner's allreduce: reduce-scatter by recursive halving, then allgather by
// recursive doubling: 2 log2 P messages, 2 bytes (P-1)/P a process. For long vectors of
// commutative operations.
#include "coll/algorithms/core.h"

namespace fgmpi::coll {

Status allreduce_rabenseifner(const Team& team, const Reduction& r, char* data) {
  Core core(team);
  OperandWire wire(r);
  Operand spare(*r.type, r.count);
  FGMPI_TRY(core.enter(r, wire, data, spare.at()));
  if (!core.outside()) {
    std::vector<int64_t> begin(core.size() + 1);
    for (uint32_t i = 0; i <= core.size(); ++i) begin[i] = r.count * i / core.size();
    FGMPI_TRY(halve(team, core, r, data, spare.at(), begin));
    int64_t size = r.type->size();
    uint32_t low = core.id(), high = low + 1;
    for (uint32_t bit = 1; bit < core.size(); bit <<= 1) {
      // This process's group has [low, high); the partner's has the other half of a group twice
      // as large.
      bool upper = core.id() & bit;
      uint32_t in_low = upper ? low - bit : high, in_high = in_low + bit;
      uint32_t partner = core.team_rank(core.id() ^ bit);
      FGMPI_TRY(team.exchange(partner, data + begin[low] * size,
                              static_cast<size_t>((begin[high] - begin[low]) * size), partner,
                              data + begin[in_low] * size,
                              static_cast<size_t>((begin[in_high] - begin[in_low]) * size)));
      (upper ? low : high) = upper ? in_low : in_high;
    }
  }
  return core.exit(wire, data);
}

}  // namespace fgmpi::coll
