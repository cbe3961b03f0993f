// The search for an earlier call that equals the present one.

#include "check/repeated/repeated.h"

namespace fgmpi::check {

RememberedCall* remembered_call(Calls id, const void* place, const int64_t* words, size_t count) {
  Rank* rank = running_rank();
  if (!rank || rank->short_path != __builtin_thread_pointer()) return nullptr;
  for (const SharedCall& one : rank->remembered_at(call_hash(id, place, words, count)))
    if (one && one->is(static_cast<uint16_t>(id), place, words, count) &&
        one->is_known(rank->epoch, RememberedCall::kFine)) {
      rank->last_call->next_call = one.get();
      return one.get();
    }
  return nullptr;
}

int Repeated::attend() {
  // Another rank of the process may have raised the thread level during the call.
  const int locked = g_process.threads ? MPIX_Tool_enter() : 0;
  handle_arrived();
  if (!g_process.deadlock.empty()) withdraw_deadlock();
  return locked;
}

void Repeated::leave_attended(Rank* rank, int locked) {
  rank->guess_next();
  if (locked) MPIX_Tool_leave(locked);
}

}  // namespace fgmpi::check
