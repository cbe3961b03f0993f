#include "tools/check/repeated_collectives.h"

#include "tools/check/agreement.h"
#include "tools/check/arrays.h"

namespace fgmpi::check {

namespace {

/// Is all looked at that is done here?
bool follows_all() {
  constexpr uint32_t kFollowed =
      findings::bit_of(Kind::kCollectives) | findings::bit_of(Kind::kBuffering);
  return (g_process.kinds & kFollowed) == kFollowed && !g_process.opens_groups;
}

}  // namespace

/// Can no buffer of the call overlap with what is under way? Of a nonblocking one, is there an operation for it, too?
bool RepeatedCall::buffers_are_free(const CallInfo& info) const {
  if (info.starts == Starts::kBlocking) return rank_->regions.empty() || !info.sets.buffers;
  return same_->is_known(rank_->epoch, KeptCall::kOperation) &&
         !may_meet_pending(*rank_, same_->operation->second.regions);
}

/// Has a member here made the same call, and does nothing but what enter() does follow from it? Sets own_, entry_, collective_.
bool RepeatedCall::may_enter(const CallInfo& info) {
  const KeptCall& call = *same_;
  const int64_t* words = call.words;
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
  if (!e || e->arrived == 0) return false;
  const auto id = static_cast<Calls>(call.id);
  if (has_arrays(id) && hash_of_arrays(id, words, *own) != call.arrays) return false;
  const bool is_root = info.at.root < 0 || words[info.at.root] == own->rank;
  if (has_details(info.collective, false)) {
    if (!call.is_known(rank_->epoch, KeptCall::kSaid) || !e->details || !repeats_base(call, *e))
      return false;
  } else if (call.agreed == 0 || e->agreed != call.agreed || e->arrays != call.arrays ||
             (root_differs(info.collective) && (is_root || e->root_was_first))) {
    return false;
  }
  own_ = own;
  entry_ = e;
  collective_ = {own->comm, number, is_root};
  return true;
}

bool RepeatedCall::look() {
  const CallInfo& info = same_->info();
  if (!follows_all() || !rank_->begun.empty() || !is_free(rank_->unbuffered) ||
      !buffers_are_free(info) || !may_enter(info))
    return false;
  Rank* rank = rank_;
  enter();
  ++own_->collectives;
  enter_at_once(collective_, own_->rank);
  Entry& e = *entry_;
  e.known_by_all.learn(rank->knows);
  if (info.at.root >= 0 && collective_.is_root) e.known_by_root = rank->knows;
  if (e.details) e.details->repeaters.push_back({own_->rank, Record(same_), same_->said});
  if (++e.arrived == collective_.comm->local_members) all_here_have_called(collective_, &e);
  progress_by_call();
  return true;
}

void RepeatedCall::after(int result) {
  return_from_mpi();
  const CallInfo& info = same_->info();
  if (result != MPI_SUCCESS) {
    note_error(rank_, *same_, result);
  } else if (info.starts != Starts::kBlocking) {
    note_again(rank_, same_, collective_);
  } else {
    leave_collective(rank_, info, collective_, entry_);
    step_need_members(waiting(), collective_, nullptr);
  }
  progress_by_call();
}

bool CollectiveWait::look() {
  const auto* request = reinterpret_cast<const MPI_Request*>(same_->words[0]);
  if (!follows_all() || !request || !rank_->begun.empty()) return false;
  request_ = repeated_wait(rank_, *request);
  if (!request_ || request_->second.collective.comm->inter || !is_free(rank_->unbuffered))
    return false;
  enter();
  handle_ = *request;
  rank_->given = {&handle_, 1};
  progress_by_call();
  return true;
}

void CollectiveWait::after(int) {
  return_from_mpi();
  // MPI completes a request of which it returns an error, too.
  note_waited(waiting(), request_);
  progress_by_call();
}

}  // namespace fgmpi::check
