#include "tools/check/repeated.h"

namespace fgmpi::check {

int Repeated::attend() {
  // Another rank of the process may have raised the level of threads meanwhile.
  const int locked = g_process.threads ? MPIX_Tool_enter() : 0;
  take_arrived();
  if (!g_process.deadlock.empty()) withdraw_deadlock();
  return locked;
}

void Repeated::leave_attended(Rank* rank, int locked) {
  rank->guess_next();
  if (locked) MPIX_Tool_leave(locked);
}

}  // namespace fgmpi::check
