// Reduction up a binomial tree: log2 P steps. Where the operation commutes, the tree is rooted at
// the root. Else it is rooted at process 0, which keeps the order of operands, and the result
// travels one message more.
#include <utility>

#include "coll/algorithms.h"

namespace fgmpi::coll {

Status reduce_binomial(const Team& team, uint32_t root, const Reduction& r, char* data) {
  uint32_t n = team.count();
  uint32_t top = r.commutative ? root : 0;
  uint32_t self = (team.me() + n - top) % n;
  OperandWire wire(r);
  Operand spare(*r.type, r.count);
  char *mine = data, *other = spare.at();
  for (uint32_t bit = 1; bit < n; bit <<= 1) {
    if (self & bit) {
      FGMPI_TRY(wire.send(team, (self - bit + top) % n, mine));
      break;
    }
    if (self + bit >= n) continue;
    FGMPI_TRY(wire.recv(team, (self + bit + top) % n, other));
    FGMPI_TRY(combine(r, mine, other, r.count));
    std::swap(mine, other);
  }
  if (top != root) {
    if (team.me() == top) return wire.send(team, root, mine);
    return team.me() == root ? wire.recv(team, top, data) : Status();
  }
  return mine == data || team.me() != root ? Status() : copy_elements(r, mine, data, r.count);
}

}  // namespace fgmpi::coll
