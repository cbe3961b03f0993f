// The search for an earlier call that equals the present one.

#include "check/repeated/repeated.h"

namespace fgmpi::check {

RememberedCall* remembered_call(Calls id, const void* place, const int64_t* words, size_t count) {
  Rank* rank = running_rank();
  if (!rank || rank->short_path != __builtin_thread_pointer()) return nullptr;
  RememberedCall* same =
      rank->find_remembered(call_hash(id, place, words, count), id, place, words, count);
  if (!same || !same->is_known(rank->epoch, RememberedCall::kFine)) return nullptr;
  rank->last_call->next_call = same;
  return same;
}

int Repeated::attend() {
  // Another rank of the process may have raised the thread level during the call.
  const int locked = g_process.threads ? MPIX_Tool_enter() : 0;
  attend_to_others();
  return locked;
}

void Repeated::leave_attended(Rank* rank, int locked) {
  rank->guess_next();
  if (locked) MPIX_Tool_leave(locked);
}

}  // namespace fgmpi::check
