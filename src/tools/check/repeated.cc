#include "tools/check/repeated.h"

#include "tools/check/agreement.h"
#include "tools/check/extensions.h"
#include "tools/check/outbox.h"

namespace fgmpi::check {

/// Is the rank in no call, and has it made this one before? Sets rank_ and same_.
bool RepeatedCall::find(Calls id, const void* place, const int64_t* words) {
  Rank* rank = current_rank();
  if (!rank || rank->in_call || rank->ended || rank->owned || !rank->regions.empty() ||
      !rank->begun.empty() || g_process.threads || g_any_arrived.load(std::memory_order_relaxed) ||
      !pthread_equal(pthread_self(), rank->thread))
    return false;
  KeptCall* guess = rank->guessed_call();
  if (!guess || !guess->is(id, place, words, kCalls[id].count)) return false;
  if (!guess->is_known(rank->epoch, KeptCall::kFine) || guess->agreed == 0) return false;
  rank_ = rank;
  same_ = guess;
  return true;
}

/// Has a member here made the same call, and does nothing but what enter() does follow from it? Sets own_, entry_, collective_.
bool RepeatedCall::may_enter(const CallInfo& info, const int64_t* words) {
  const auto handle = static_cast<MPI_Comm>(words[info.at.comm]);
  OwnComm* own = handle == rank_->last_comm ? rank_->last_own : nullptr;
  if (!own) own = rank_->comm_of(handle);
  if (!own || !own->comm->calls || !own->comm->entered || own->comm->inter || own->comm->foreign)
    return false;
  if (!own->comm->others.empty() && rank_->events &&
      (own->events.empty() || own->events.back().second != rank_->events))
    return false;
  const uint64_t number = own->collectives;
  Entry* e = own->comm->calls->find(number);
  if (!e || e->arrived == 0 || e->agreed != same_->agreed) return false;
  const bool is_root = info.at.root < 0 || words[info.at.root] == own->rank;
  if (root_differs(info.collective) && (is_root || e->root_was_first)) return false;
  own_ = own;
  entry_ = e;
  collective_ = {own->comm, number, is_root};
  return true;
}

bool RepeatedCall::begin(Calls id, const void* place, const int64_t* words) {
  constexpr uint32_t kFollowed =
      findings::bit_of(Kind::kCollectives) | findings::bit_of(Kind::kBuffering);
  if ((g_process.kinds & kFollowed) != kFollowed || g_process.unbuffered || g_process.opens_groups)
    return false;
  const CallInfo& info = kCalls[id];
  if (!find(id, place, words) || !is_free(rank_->unbuffered) || !may_enter(info, words))
    return false;
  Rank* rank = rank_;
  rank->last_call = same_;
  same_->prefetch_next();
  ++rank->calls;
  ++rank->communications;
  before_ = rank->current;
  rank->current = same_;
  rank->in_call = true;
  ++own_->collectives;
  enter_at_once(collective_, own_->rank);
  Entry& e = *entry_;
  e.known_by_all.learn(rank->knows);
  if (info.at.root >= 0 && collective_.is_root) e.known_by_root = rank->knows;
  if (++e.arrived == collective_.comm->local_members) all_here_have_called(collective_, &e);
  progress_by_call();
  return true;
}

void RepeatedCall::after(int result) {
  Rank* rank = rank_;
  // Another rank of the process may have raised the level of threads meanwhile.
  const int entered = g_process.threads ? MPIX_Tool_enter() : 0;
  take_arrived();
  if (!g_process.deadlock.empty()) withdraw_deadlock();
  if (result == MPI_SUCCESS) {
    const CallInfo& info = same_->info();
    leave_collective(rank, info, collective_, entry_);
    step_need_members({rank, same_, same_}, collective_, nullptr);
  } else {
    note_error(rank, *same_, result);
  }
  progress_by_call();
  if (entered) MPIX_Tool_leave(entered);
  --rank->calls;
  rank->current = before_;
  rank->in_call = false;
}

}  // namespace fgmpi::check
