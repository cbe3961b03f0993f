// Exclusive scan over processes by recursive doubling: log2 P steps, in the order of processes.
#include "coll/algorithms.h"

namespace fgmpi::coll {

Status scan_recursive_doubling(const Team& team, const Reduction& r, char* data, char* before) {
  uint32_t n = team.count(), me = team.me();
  OperandWire out(r), in(r);
  Operand incoming(*r.type, r.count);
  bool have = false;
  for (uint32_t distance = 1; distance < n; distance *= 2) {
    // `data` is the fold of the processes (me - distance, me]; the incoming operand that of the
    // `distance` processes before them.
    bool sends = me + distance < n, receives = me >= distance;
    // A step is a chain whose end only receives, so sending first cannot end in a cycle.
    if (sends) FGMPI_TRY(out.send(team, me + distance, data));
    if (!receives) continue;
    FGMPI_TRY(in.recv(team, me - distance, incoming.at()));
    FGMPI_TRY(combine(r, incoming.at(), data, r.count));
    if (have) {
      FGMPI_TRY(combine(r, incoming.at(), before, r.count));
    } else {
      FGMPI_TRY(copy_elements(r, incoming.at(), before, r.count));
      have = true;
    }
  }
  return {};
}

}  // namespace fgmpi::coll
