// Sends, receives and waits by the short path, and turning them into operations when
// another call follows.

#include "check/repeated/repeated_messages.h"

#include <algorithm>

#include "check/call.h"
#include "check/messages/messages.h"

namespace fgmpi::check {
namespace {

int source_of(const CallRecord& call) { return static_cast<int>(call.at(call.info().at.source)); }
int tag_of(const CallRecord& call) { return static_cast<int>(call.at(call.info().at.recv_tag)); }

/// Do two receives match from one queue? REQUIRES: the queues of both are known.
bool receive_from_same(const RememberedCall& a, const RememberedCall& b) {
  return a.receive_comm_key == b.receive_comm_key && source_of(a) == source_of(b) &&
         tag_of(a) == tag_of(b);
}

}  // namespace

bool is_first(const Rank& rank, const RememberedCall& call) {
  return std::none_of(rank.begun.begin(), rank.begun.end(), [&](const PendingOperation& b) {
    return !b.sends && receive_from_same(*b.call, call);
  });
}

bool recheck_disjoint(const Rank& rank, RememberedCall* call, bool writes) {
  for (const PendingOperation& b : rank.begun)
    if ((writes || !b.sends) && b.call->messages.low < call->high() &&
        call->messages.low < b.call->high())
      return false;
  call->messages.beside = rank.pending_sum;
  call->set_known(rank.epoch, RememberedCall::kBeside);
  return true;
}

void begin_receive_from_list(MessageQueue* queue) {
  QueuedMessage* m = queue->list;
  while (m && m->receive_begun) m = m->next;
  if (!m) {
    ++queue->receives_waiting;
    return;
  }
  m->receive_begun = 1;
  step_receive_begun(m->id);
}

RemovedMessage remove_other_message(Rank* rank, RememberedCall* call) {
  call->set_queue(queue_for(&inbox_of(rank->world), call->queue(), &call->receive_comm_key,
                            call->receive_comm_key, source_of(*call), tag_of(*call)));
  MessageQueue* queue = call->messages.queue;
  if (!queue->first()) return {};
  QueuedMessage* m = queue->remove_first();
  if (!has_signature_matched(*rank, *m, *call)) {
    const Positions& at = call->info().at;
    check_message_types(rank, *m, *call, static_cast<MPI_Datatype>(call->at(at.recv_type)),
                        call->at(at.recv_count), call);
  }
  m->has_clock ? rank->knows.learn(m->known) : rank->knows.learn_near(m->known.near);
  PlacedMessage removed;
  removed.id = m->id;
  removed.receive_begun = m->receive_begun;
  removed.send_begun = m->send_begun;
  removed.notify_sender = 1;
  drop_message(m);
  inbox_of(rank->world)
      .erase_if_many(*queue, key_of(call->receive_comm_key, source_of(*call), tag_of(*call)));
  return {removed, queue};
}

void record_posted_receives(Rank* rank) {
  for (PendingOperation& b : rank->begun)
    if (!b.sends && !b.receive_begun && has_begun(*rank, receive_number_of(*rank, b)) &&
        b.call->queue().is_there()) {
      b.receive_begun = true;
      begin_receive_from(b.call->messages.queue);
    }
  if (!rank->receives_from || rank->unbuffered.first < rank->unbuffered.steps.size()) return;
  begin_receive_from(std::exchange(rank->receives_from, nullptr));
}

// ---- Errors -------------------------------------------------------------------------------------

template <bool kSends, bool kReceives>
void RepeatedMessage<kSends, kReceives>::after_error(const Failed& failed) {
  RememberedCall& call = *failed.call.shared;
  const uint64_t before = g_process.reports;
  const bool matched = has_matched_despite_error(failed.result, failed.told);
  if (kReceives && !matched && call.queue().is_there()) call.messages.queue->receives_waiting = 0;
  if (failed.message_id && !matched)
    withdraw_message(call.properties.comm, call.properties.receiver_world, failed.message_id);
  if (kReceives && matched) record_lone_receive(failed.call, failed.told, failed.status_read);
  if (g_process.reports == before) report_error_result(failed.call.rank, call, failed.result);
}

template class RepeatedMessage<true, false>;
template class RepeatedMessage<false, true>;
template class RepeatedMessage<true, true>;

template <bool kSends>
void RepeatedStart<kSends>::after_error(Rank* rank, const RememberedCall* call, uint64_t id,
                                        int result) {
  if (kSends && !has_matched_despite_error(result, nullptr))
    withdraw_message(call->properties.comm, call->properties.receiver_world, id);
  report_error_result(rank, *call, result);
}

template class RepeatedStart<true>;
template class RepeatedStart<false>;

// ---- MPI_Wait, MPI_Waitall ----------------------------------------------------------------------

/// Is each request of the list in Rank::begun, and does the wait complete receives from one queue
/// in order? Sets PendingOperation::index.
bool RepeatedWait::find_begun() {
  int found = 0;
  const auto first = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(list_));
  for (PendingOperation& b : rank_->begun) {
    int64_t i = (b.at - first) / sizeof(MPI_Request);
    if (i >= count_ || list_[i] != b.handle) i = std::find(list_, list_ + count_, b.handle) - list_;
    b.index = i < count_ ? static_cast<int16_t>(i) : int16_t{-1};
    found += b.index >= 0;
  }
  if (found != count_) return false;
  if (static_cast<size_t>(found) == rank_->begun.size()) return true;
  for (const PendingOperation& earlier : rank_->begun) {
    if (earlier.sends || earlier.index >= 0) continue;
    for (const PendingOperation* b = &earlier + 1; b != rank_->begun.end(); ++b)
      if (!b->sends && b->index >= 0 && receive_from_same(*b->call, *earlier.call)) return false;
  }
  return true;
}

bool RepeatedWait::begin() {
  handle_arrived();
  if (rank_->begun.empty()) return leave_to_full_call();
  const CallInfo& info = same_->info();
  const int64_t* words = same_->words;
  const Parameter& p = info.parameters[info.at.given];
  list_ = reinterpret_cast<MPI_Request*>(words[info.at.given]);
  const int64_t count = p.array ? words[p.length] : 1;
  count_ = count <= static_cast<int64_t>(PendingOperations::kMost) ? static_cast<int>(count) : 0;
  if (!list_ || count_ <= 0 || !find_begun()) return leave_to_full_call();
  enter();
  rank_->wait = this;
  for (const PendingOperation& b : rank_->begun)
    if (b.index >= 0 && is_sent_handle(b.handle)) list_[b.index] = kSentHandle;
  progress_by_call();
  return true;
}

const std::vector<MPI_Request>* RepeatedWait::leave_to_call() {
  given_.assign(static_cast<size_t>(count_), MPI_REQUEST_NULL);
  for (const PendingOperation& b : rank_->begun)
    if (b.index >= 0) given_[static_cast<size_t>(b.index)] = b.handle;
  left_to_call_ = true;
  return &given_;
}

void RepeatedWait::complete() {
  Rank* rank = rank_;
  const WaitingCall waits = waiting();
  const bool sums = g_process.wants(FindingKind::kBuffers);
  // Other ranks have run since these operations began, so the fields of receives are prefetched.
  for (const PendingOperation& b : rank->begun) {
    if (b.index < 0) continue;
    if (!b.sends) {
      __builtin_prefetch(&b.call->known);
      continue;
    }
    const RememberedCall& call = *b.call;
    if (sums && checksum_between(call.messages.low, call.high()) != b.word)
      report_changed(rank, call);
    if (b.receive_begun || has_receive_begun(rank, call, call.queue(), message_id_of(*rank, b)))
      continue;
    const SharedCall awaited(b.call);
    step_need_receive(waits, message_id_of(*rank, b), &awaited);
  }
  bool all_begun = true;
  for (PendingOperation& b : rank->begun) {
    if (b.sends || b.index < 0) continue;
    const auto [m, queue] = remove_message(rank, b.call);
    if (!m.receive_begun && m.id) {
      const uint64_t number = receive_number_of(*rank, b);
      if (has_begun(*rank, number))
        announce_placed_receive(queue, m);
      else
        step_matched(rank, number, m.id, true);
    }
    b.word = m.send_begun ? 0 : m.id;
    all_begun = all_begun && !b.word;
  }
  if (!all_begun)
    for (const PendingOperation& b : rank->begun) {
      if (b.sends || b.index < 0 || !b.word) continue;
      const SharedCall awaited(b.call);
      step_need_send(waits, b.word, &awaited);
    }
  if (static_cast<size_t>(count_) == rank->begun.size()) {
    rank->begun.clear();
    rank->pending_sum = 0;
    return;
  }
  rank->begun.erase_if([&](const PendingOperation& b) {
    if (b.index >= 0)
      rank->pending_sum -= reach_of(b.call->messages.low, b.call->messages.bytes, !b.sends);
    return b.index >= 0;
  });
}

/// Fills in statuses that the program ignores, for receives whose source and tag are known.
void RepeatedWait::fill(MPI_Status* statuses) const {
  for (int i = 0; i < count_; ++i) {
    const auto* entry = rank_->requests.find(given_[static_cast<size_t>(i)]);
    if (!entry || !entry->second.posted) continue;
    statuses[i].MPI_SOURCE = entry->second.posted->source;
    statuses[i].MPI_TAG = entry->second.posted->tag;
  }
}

/// Completes the wait by CheckedCall, because of an error or because make_operations() has run.
void RepeatedWait::complete_by_call(int result) {
  Rank* rank = rank_;
  if (!left_to_call_) make_operations(rank);
  std::vector<MPI_Request> left(list_, list_ + count_);
  for (size_t i = 0; i < left.size(); ++i)
    if (left[i] == kSentHandle) left[i] = given_[i];
  std::copy(given_.begin(), given_.end(), list_);
  leave();
  rank->wait = nullptr;
  rank->given = {};
  const SharedCall again(same_);
  const CallInfo& info = again->info();
  int64_t words[kMostArguments];
  std::copy(std::begin(again->words), std::end(again->words), words);
  CheckedCall call(static_cast<Calls>(again->id), again->returned_to(), words);
  for (int i = 0; i < info.count; ++i) {
    auto* of_program = reinterpret_cast<MPI_Status*>(words[i]);
    MPI_Status* told = nullptr;
    if (info.parameters[i].what == ParameterUse::kStatus) told = call.status(of_program);
    if (info.parameters[i].what == ParameterUse::kStatuses)
      told = call.statuses(of_program, count_);
    if (told && told != of_program) fill(told);
  }
  rank_ = nullptr;
  call.after(result);
  std::copy(left.begin(), left.end(), list_);
}

void RepeatedWait::after(int result) {
  return_from_mpi();
  if (result != MPI_SUCCESS || left_to_call_) return complete_by_call(result);
  complete();
  rank_->wait = nullptr;
  progress_by_call();
}

RepeatedWait::~RepeatedWait() {
  if (!rank_) return;  // otherwise MPI has thrown, or everything is done
  if (left_to_call_ && rank_->given.data() == given_.data()) rank_->given = {};
  rank_->wait = nullptr;
}

}  // namespace fgmpi::check
