#include "tools/check/repeated.h"

namespace fgmpi::check {

void Repeated::attend() {
  // Another rank of the process may have raised the level of threads meanwhile.
  locked_ = g_process.threads ? MPIX_Tool_enter() : 0;
  take_arrived();
  if (!g_process.deadlock.empty()) withdraw_deadlock();
}

void Repeated::leave_attended() {
  rank_->guess_next();
  if (locked_) MPIX_Tool_leave(locked_);
}

}  // namespace fgmpi::check
