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

/// Is no operation of the rank under way that its collective calls would have to be compared with, or wait behind?
bool is_quiet(const Rank& rank) {
  return rank.begun.empty() && rank.regions.empty() && is_free(rank.unbuffered) && !rank.events;
}

/// Fills KeptCall::enters. False: the call is not followed, or more than what begin() does follows from it.
bool fill_enters(Rank* rank, KeptCall* call) {
  const CallInfo& info = call->info();
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(call->at(info.at.comm)));
  if (!own || !own->comm->calls || !own->comm->entered || own->comm->inter || own->comm->foreign)
    return false;
  const bool is_root = info.at.root < 0 || call->at(info.at.root) == own->rank;
  const uint64_t agreed = call->enters.agreed;
  const bool is_plain = info.starts == Starts::kBlocking && agreed != 0 &&
                        !has_arrays(static_cast<Calls>(call->id)) &&
                        !has_details(info.collective, false) && !root_differs(info.collective);
  call->enters = {agreed, own, learns(info, is_root), is_root, is_plain};
  call->set_known(rank->epoch, KeptCall::kEnters);
  return true;
}

/// Can no buffer of the call overlap with what is under way? Of a nonblocking one, is there an operation for it, too?
bool buffers_are_free(const Rank& rank, const KeptCall& call) {
  const CallInfo& info = call.info();
  if (info.starts == Starts::kBlocking) return rank.regions.empty() || !info.sets.buffers;
  return call.is_known(rank.epoch, KeptCall::kOperation) &&
         !may_meet_pending(rank, call.operation->second.regions);
}

/// Does the call say what the first member here has said?
bool agrees(const Rank& rank, const KeptCall& call, const Entry& e) {
  const CallInfo& info = call.info();
  const auto id = static_cast<Calls>(call.id);
  if (has_arrays(id) && hash_of_arrays(id, call.words, *call.enters.own) != call.arrays)
    return false;
  if (has_details(info.collective, false))
    return call.is_known(rank.epoch, KeptCall::kSaid) && e.details && repeats_base(call, e);
  return call.enters.agreed != 0 && e.agreed == call.enters.agreed && e.arrays == call.arrays &&
         (!root_differs(info.collective) || !(call.enters.is_root || e.root_was_first));
}

/// The clock of its own that a rank tells with the call is told already.
bool is_told(const Rank& rank, const OwnComm& own) {
  return rank.events == 0 || own.comm->others.empty() ||
         (!own.events.empty() && own.events.back().second == rank.events);
}

}  // namespace

/// The entry of a call of any kind; null: Call is to look at it.
Entry* RepeatedCall::find_entry() {
  take_arrived();
  Rank* rank = rank_;
  KeptCall* call = same_;
  if (!follows_all() || !rank->begun.empty() || !is_free(rank->unbuffered) ||
      !buffers_are_free(*rank, *call) ||
      (!call->is_known(rank->epoch, KeptCall::kEnters) && !fill_enters(rank, call)))
    return nullptr;
  const OwnComm& own = *call->enters.own;
  Entry* e = own.comm->calls->find(own.collectives);
  return e && e->arrived && agrees(*rank, *call, *e) && is_told(*rank, own) ? e : nullptr;
}

/// The same of one that is_plain, where nothing is under way; null: not known.
Entry* RepeatedCall::find_plain() const {
  const KeptCall::Enters& enters = same_->enters;
  if (!same_->is_known(rank_->epoch, KeptCall::kEnters) || !enters.is_plain || !is_quiet(*rank_) ||
      g_attention.load(std::memory_order_acquire))
    return nullptr;
  Entry* e = enters.own->comm->calls->find(enters.own->collectives);
  return e && e->agreed == enters.agreed ? e : nullptr;
}

bool RepeatedCall::begin() {
  Entry* e = find_plain();
  plain_ = e != nullptr;
  if (!e && !(e = find_entry())) return give_up();
  enter();
  const KeptCall::Enters& enters = same_->enters;
  Comm* c = enters.own->comm;
  const uint64_t number = enters.own->collectives++;
  entry_ = e;
  own_ = enters.own;
  enter_at_once(c, enters.own->rank, number);
  e->known_by_all.learn(rank_->knows);
  if (enters.is_root && same_->info().at.root >= 0) e->known_by_root = rank_->knows;
  if (e->details) e->details->repeaters.push_back({enters.own->rank, Record(same_), same_->said});
  if (++e->arrived == c->local_members) all_here_have_called(*c, number, e);
  progress_by_call();
  return true;
}

void RepeatedCall::after(int result) {
  // What is read from here on, and by the rank's next call: other ranks have run.
  __builtin_prefetch(own_);
  __builtin_prefetch(&same_->enters);
  __builtin_prefetch(&rank_->knows);
  __builtin_prefetch(rank_);
  return_from_mpi();
  const CollectiveCall collective = {own_->comm, own_->collectives - 1, same_->enters.is_root};
  if (result != MPI_SUCCESS) [[unlikely]] {
    note_error(rank_, *same_, result);
  } else if (plain_ || same_->info().starts == Starts::kBlocking) {
    const Comm& c = *collective.comm;
    leave_collective(rank_, same_->enters.learns, c, collective.number, entry_);
    // A rank with no steps left, as one whose call is plain, gets none while it is in the call.
    if (!plain_ || c.entered->all() <= collective.number)
      step_need_members(waiting(), collective, nullptr);
  } else {
    note_again(rank_, same_, collective);
  }
  progress_by_call();
}

bool CollectiveWait::begin() {
  take_arrived();
  const auto* request = reinterpret_cast<const MPI_Request*>(same_->words[0]);
  if (!follows_all() || !request || !rank_->begun.empty()) return give_up();
  request_ = repeated_wait(rank_, *request);
  if (!request_ || request_->second.collective.comm->inter || !is_free(rank_->unbuffered))
    return give_up();
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
