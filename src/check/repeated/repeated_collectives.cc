// Entering and leaving a collective by the short path, for a call that equals an earlier one.

#include "check/repeated/repeated_collectives.h"

namespace fgmpi::check {

namespace {

/// Are the checks that this file does all wanted?
bool follows_all() {
  constexpr uint32_t kFollowed =
      findings::bit_of(FindingKind::kCollectives) | findings::bit_of(FindingKind::kBuffering);
  return (g_process.kinds & kFollowed) == kFollowed && !g_process.opens_groups;
}

/// Fills RememberedCall::enters. Returns false where the call is not tracked, or needs more
/// than begin() does.
bool fill_enters(Rank* rank, RememberedCall* call) {
  const CallInfo& info = call->info();
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(call->at(info.at.comm)));
  if (!own || !own->comm->calls || !own->comm->entered || own->comm->inter || own->comm->foreign)
    return false;
  const bool is_root = check::is_root(info, call->words, *own);
  const uint64_t agreed = call->enters.agreed;
  RememberedCall::Enters e = {};
  e.agreed = agreed;
  e.own = own;
  e.learns_of = learns_of(info, is_root);
  e.is_root = is_root;
  e.tells = is_root && info.at.root >= 0;
  e.awaits = awaited_members(info, is_root);
  e.root = static_cast<int>(call->at(info.at.root));
  const int root = info.at.root < 0 ? MPI_UNDEFINED : own->comm->world_of(e.root);
  e.root_is_here = root != MPI_UNDEFINED && is_local(root);
  e.has_arrays = has_arrays(static_cast<Calls>(call->id));
  e.has_details = has_details(info.collective, false);
  e.root_differs = root_differs(info.collective);
  e.is_blocking = info.starts == Starts::kBlocking;
  e.is_plain = agreed != 0 && !e.has_arrays && !e.has_details;
  call->enters = e;
  call->set_known(rank->epoch, RememberedCall::kEnters);
  return true;
}

/// Is it certain that no buffer of the call overlaps pending operations? A nonblocking call must
/// also have an operation to reuse.
bool buffers_are_free(const Rank& rank, const RememberedCall& call) {
  const CallInfo& info = call.info();
  if (info.starts == Starts::kBlocking) return rank.regions.empty() || !info.sets.buffers;
  return call.is_known(rank.epoch, RememberedCall::kOperation) &&
         !may_meet_pending(rank, call.operation->second.regions);
}

/// Does the call declare what the first member here has declared?
bool agrees(const RememberedCall& call, const CollectiveEntry& e) {
  const RememberedCall::Enters& enters = call.enters;
  if (enters.has_details) return RepeatedCall::repeats(call, e);
  if (enters.has_arrays && !RepeatedCall::arrays_are_same(call)) return false;
  return repeats_first(e, enters.agreed, enters.root_differs, enters.is_root) &&
         e.arrays == call.arrays;
}

}  // namespace

CollectiveEntry* RepeatedCall::find_entry(Rank* rank, RememberedCall* call) {
  handle_arrived();
  if (!follows_all() || !rank->begun.empty() || !is_free(rank->unbuffered) ||
      !buffers_are_free(*rank, *call) ||
      (!(call->known & RememberedCall::kEnters) && !fill_enters(rank, call)))
    return nullptr;
  const OwnComm& own = *call->enters.own;
  CollectiveEntry* e = own.comm->calls->find(own.collectives);
  return e && e->arrived && agrees(*call, *e) && has_recorded_events(*rank, own) ? e : nullptr;
}

void RepeatedCall::store_repeater(RememberedCall* call, CollectiveEntry* e) {
  e->details->repeaters.push_back({call->enters.own->rank, SharedCall(call), call->declared});
}

bool CollectiveWait::begin() {
  handle_arrived();
  const auto* request = reinterpret_cast<const MPI_Request*>(same_->words[0]);
  if (!follows_all() || !request || !rank_->begun.empty()) return leave_to_full_call();
  request_ = repeated_wait(rank_, *request);
  if (!request_ || request_->second.collective.comm->inter || !is_free(rank_->unbuffered))
    return leave_to_full_call();
  enter();
  handle_ = *request;
  rank_->given = {&handle_, 1};
  progress_by_call();
  return true;
}

void CollectiveWait::after(int) {
  return_from_mpi();
  // MPI completes a request even where it returns an error for it.
  record_waited_collective(waiting(), request_);
  progress_by_call();
}

}  // namespace fgmpi::check
