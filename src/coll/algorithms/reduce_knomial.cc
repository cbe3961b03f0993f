// Reduction up a tree of degree k = 4 from the root: fewer levels than binomial. The operation
// must commute.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status reduce_knomial(const Team& team, uint32_t root, const Reduction& r, char* data) {
  constexpr uint32_t k = 4;
  uint32_t n = team.count();
  uint32_t self = (team.me() + n - root) % n;
  OperandWire wire(r);
  Operand other(*r.type, r.count);
  uint32_t level = 1;
  for (; level < n && self % (level * k) == 0; level *= k)
    for (uint32_t digit = 1; digit < k && self + digit * level < n; ++digit) {
      FGMPI_TRY(wire.recv(team, (self + digit * level + root) % n, other.at()));
      FGMPI_TRY(combine(r, other.at(), data, r.count));
    }
  return self ? wire.send(team, (self - self % (level * k) + root) % n, data) : Status();
}

}  // namespace fgmpi::coll
