// Exclusive scan along a chain: P - 1 messages in all, P steps. For few processes or long vectors.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status scan_chain(const Team& team, const Reduction& r, char* data, char* before) {
  OperandWire wire(r);
  uint32_t me = team.me();
  if (me > 0) {
    FGMPI_TRY(wire.recv(team, me - 1, before));
    FGMPI_TRY(combine(r, before, data, r.count));
  }
  return me + 1 < team.count() ? wire.send(team, me + 1, data) : Status();
}

}  // namespace fgmpi::coll
