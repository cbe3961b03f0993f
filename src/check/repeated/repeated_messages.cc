// Sends, receives and waits by the short path, and turning them into operations when
// another call follows.

#include "check/repeated/repeated_messages.h"

#include <algorithm>

#include "check/call.h"
#include "check/messages/messages.h"

namespace fgmpi::check {
namespace {

/// Do two receives match from one queue? REQUIRES: the queues of both are known.
bool receive_from_same(const RememberedCall& a, const RememberedCall& b) {
  return a.receive_comm_key == b.receive_comm_key && source_of(a) == source_of(b) &&
         receive_tag_of(a) == receive_tag_of(b);
}

}  // namespace

bool is_first(const Rank& rank, const RememberedCall& call) {
  return std::none_of(rank.begun.begin(), rank.begun.end(), [&](const PendingOperation& b) {
    return !b.sends && receive_from_same(*b.call, call);
  });
}

bool recheck_disjoint(const Rank& rank, RememberedCall* call, bool writes) {
  for (const PendingOperation& b : rank.begun)
    if (conflict({call->messages.low, call->high(), writes},
                 {b.call->messages.low, b.call->high(), !b.sends}))
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
  const Inbox::QueueKey key =
      key_of(call->receive_comm_key, source_of(*call), receive_tag_of(*call));
  call->set_queue(queue_for(&inbox_of(rank->world), call->queue(), &call->receive_comm_key,
                            call->receive_comm_key, key.source, key.tag));
  MessageQueue* queue = call->messages.queue;
  if (!queue->first()) return {};
  QueuedMessage* m = queue->remove_first();
  check_removed_message(rank, *m, *call, call);
  const PlacedMessage removed = as_placed(*m);
  drop_removed_message(rank, *queue, key, m);
  return {removed, queue};
}

void record_posted_receives(Rank* rank) {
  for (PendingOperation& b : rank->begun)
    if (!b.sends && !b.receive_begun &&
        has_posted_receive_begun(*rank, receive_number_of(*rank, b)) &&
        b.call->queue().is_there()) {
      b.receive_begun = true;
      begin_receive_from(b.call->messages.queue);
    }
  if (!rank->receives_from || rank->unbuffered.first < rank->unbuffered.steps.size()) return;
  begin_receive_from(std::exchange(rank->receives_from, nullptr));
}

// ---- Errors -------------------------------------------------------------------------------------

template <bool kSends, bool kReceives>
void RepeatedMessage<kSends, kReceives>::after_error(const WaitingCall& call, int result,
                                                     uint64_t message_id, const MPI_Status* status,
                                                     bool status_read) {
  const MessageProperties& sent = call.shared->properties;
  record_repeated_error({.call = call,
                         .result = result,
                         .comm = kSends ? sent.comm : nullptr,
                         .receiver_world = kSends ? sent.receiver_world : -1,
                         .message_id = message_id,
                         .receives_alone = kReceives,
                         .status = status,
                         .status_read = status_read});
}

template class RepeatedMessage<true, false>;
template class RepeatedMessage<false, true>;
template class RepeatedMessage<true, true>;

template <bool kSends>
void RepeatedStart<kSends>::after_error(const WaitingCall& call, int result, uint64_t message_id) {
  const MessageProperties& sent = call.shared->properties;
  record_repeated_error({.call = call,
                         .result = result,
                         .comm = kSends ? sent.comm : nullptr,
                         .receiver_world = kSends ? sent.receiver_world : -1,
                         .message_id = message_id});
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
  const auto [list, count] = requests_of(*same_, same_->info().at.given);
  if (!list || count <= 0 || count > static_cast<int64_t>(PendingOperations::kMost))
    return leave_to_full_call();
  list_ = list;
  count_ = static_cast<int>(count);
  if (!find_begun()) return leave_to_full_call();
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
    if (!b.receive_begun)
      step_need_receive_of(
          rank, [&]() -> const WaitingCall& { return waits; }, call, call.queue(),
          message_id_of(*rank, b), b.call);
  }
  bool all_begun = true;
  for (PendingOperation& b : rank->begun) {
    if (b.sends || b.index < 0) continue;
    const auto [m, queue] = remove_message(rank, b.call);
    record_posted_match(
        rank, [&] { return receive_number_of(*rank, b); }, m, queue, true);
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
  restore_own_handles(left, given_);
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
