// Requests: the operation behind each one, from the call that makes it to the call
// that completes it.
//
// The library has one handle for all sends that are complete at once. The checker gives
// each of them a handle of its own (kFirstSent | number), so that it can tell which of them
// a call waits for.
#include <cstring>

#include "check/call.h"
#include "check/messages/messages.h"
#include "check/repeated/repeated_messages.h"

namespace fgmpi::check {
namespace {

void check_foreign_request(CheckedCall* call, MPI_Request handle) {
  for (const auto& other : g_process.all) {
    if (!other || other.get() == call->rank()) continue;
    make_operations(other.get());
    auto found = other->requests.find(handle);
    if (!found) continue;
    report(FindingKind::kArguments, "a request of another rank is used",
           "a handle means something only to the rank that made it",
           {call->me(), participant(other.get(), found->second.call, "made it")});
    return;
  }
}

/// Adds the positions in the list that the call has completed, each with the
/// position of its status.
void find_completed(const CheckedCall& call, int64_t count, std::vector<CompletedEntry>* done) {
  auto number = [&](int8_t Positions::*where) {
    const auto* at = static_cast<const int*>(call.pointer(where));
    return at ? *at : 0;
  };
  if (call.has(&Positions::flag) && !number(&Positions::flag)) return;
  if (call.has(&Positions::out_count)) {
    const int n = number(&Positions::out_count);
    const auto* indices = static_cast<const int*>(call.pointer(&Positions::indices));
    for (int i = 0; n != MPI_UNDEFINED && i < n; ++i) done->push_back({indices[i], i});
  } else if (call.has(&Positions::index)) {
    if (const int i = number(&Positions::index); i != MPI_UNDEFINED) done->push_back({i, 0});
  } else {
    done->reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) done->push_back({i, i});
  }
}

/// Does the call wait for each of its requests, as MPI_Wait and MPI_Waitall do?
bool waits_for_all(const CheckedCall& call) {
  return !call.has(&Positions::flag) && !call.has(&Positions::index) &&
         !call.has(&Positions::out_count);
}

/// Adds steps for what a wait for the operation needs of other ranks. need_senders() adds
/// those for senders.
void record_needs(CheckedCall* call, RequestOperation* op) {
  if (op->needs_receive) step_need_receive(call->waiting(), op->message_id, &op->call);
  if (!op->posted || op->posted->source == MPI_ANY_SOURCE) return;
  call->lists().received.push_back(op->posted);
}

/// Called after sweep(), when the messages of receives are known.
void need_senders(CheckedCall* call) {
  for (const auto& posted : call->lists().received)
    if (posted->matched_message_id)
      step_need_send(call->waiting(), posted->matched_message_id, &posted->call);
}

/// A nonblocking collective is complete. `waits`: the call that has waited for it; null where it
/// was complete anyway.
void complete_collective(Rank* rank, const WaitingCall* waits, RequestOperation* op) {
  if (waits) step_need_members(*waits, op->collective, &op->call);
  op->active = false;
  leave_collective(rank, op->call->info(), op->collective);
}

void complete(CheckedCall* call, MPI_Request handle, RequestOperation* done,
              const MPI_Status* status) {
  Rank* rank = call->rank();
  RequestOperation& op = *done;
  if (!op.active) return;
  end_regions(rank, handle, &op);
  int cancelled = 0;
  // Only an operation for which MPI_Cancel was called can be cancelled.
  if (status && op.cancelled) g_next.MPI_Test_cancelled(status, &cancelled);
  if (cancelled && op.sends) withdraw_message(op.comm, op.receiver_world, op.message_id);
  if (op.rare && op.call->info().synchronous && op.receiver_world >= 0 && !cancelled)
    record_synchronous_end(rank, op.receiver_world);
  const bool waits = !cancelled && waits_for_all(*call);
  if (waits) record_needs(call, &op);
  if (op.posted) {
    op.posted->status_read = call->status_read();
    record_receive_complete(rank, op.posted, cancelled ? nullptr : status);
    op.posted.reset();
  }
  op.active = false;
  const bool uses = rank->has_windows && !cancelled;
  if (!op.rare || op.persistent) {
    if (op.partitioned || op.collective.comm) learn_everything(rank);
    if (uses) record_used_memory(rank, op.call, op.regions, status);
    return;
  }
  const WaitingCall waiting = call->waiting();
  if (op.collective.comm) complete_collective(rank, waits ? &waiting : nullptr, &op);
  if (uses) record_used_memory(rank, op.call, op.regions, status);
  record_handles_made_by(call, op.call);
}

/// The most nodes that are retained for later requests.
constexpr size_t kMostSpare = 64;

/// Stores the operation of a nonblocking collective that has ended, with its regions, in its record
/// for the rank's next call like it. Returns whether it did.
bool keep_for_again(Rank* rank, Rank::Requests::Node* node) {
  RequestOperation& op = (*node)->second;
  RememberedCall* call = op.call.get();
  if (!op.collective.comm || op.persistent || op.cancelled || op.partitioned || op.posted ||
      !op.released || op.real != MPI_REQUEST_NULL || op.made_in != rank->epoch)
    return false;
  if (call->rank != rank || !call->is_known(rank->epoch, RememberedCall::kFine) ||
      call->is_known(rank->epoch, RememberedCall::kOperation))
    return false;
  call->set_known(rank->epoch, RememberedCall::kOperation);
  op.call.reset();
  delete call->operation;
  call->operation = node->release();
  return true;
}

void forget(Rank* rank, Rank::Requests::Node node) {
  if (node->second.rare && keep_for_again(rank, &node)) return;
  if (rank->spare_requests.size() >= kMostSpare) return;
  node->second.reset();
  rank->spare_requests.push_back(std::move(node));
}

/// Removes a request from the table until the call returns: another thread may receive the same
/// handle before that. The node's address does not change.
void remove_pending_request(CheckedCall* call, Rank::Requests::TableEntry* found) {
  call->lists().taken.push_back(call->rank()->requests.extract(found));
}

void complete_taken(CheckedCall* call, const std::vector<CompletedEntry>& done) {
  for (auto& node : call->lists().taken) {
    bool over = false;
    for (const CompletedEntry& c : done)
      if (c.position >= 0 && call->requests()[static_cast<size_t>(c.position)] == node->first) {
        complete(call, node->first, &node->second, call->written_status(c.status));
        over = !node->second.persistent;
      }
    if (!over) call->rank()->requests.insert(std::move(node));
  }
  call->lists().taken.clear();
}

/// Prefetches the fields that completing these requests reads, because other ranks have run since
/// they were started.
void prefetch(std::span<const CompletedEntry> done) {
  if (done.size() < 2) return;
  for (const CompletedEntry& c : done) {
    if (!c.entry) continue;
    const RequestOperation& op = c.entry->second;
    __builtin_prefetch(op.posted.get());
    __builtin_prefetch(&op.call->users);
    __builtin_prefetch(reinterpret_cast<const char*>(&op) + 64);
  }
  prefetch_messages(done);
}

void record_completions(CheckedCall* call) {
  const int position = call->info().at.given;
  const auto [list, count] = requests_of(call->record(), position);
  if (call->requests().empty()) return;
  Rank* rank = call->rank();
  Lists& lists = call->lists();
  std::vector<CompletedEntry>& done = lists.done;
  find_completed(*call, count, &done);
  record_passed_receives(call, done);
  restore_own_handles({list, static_cast<size_t>(count)}, lists.requests);
  if (!call->had_threads()) {
    auto find = [&, most = count](const CompletedEntry& c) {
      return c.position >= 0 && c.position < most
                 ? rank->requests.find(lists.requests[static_cast<size_t>(c.position)])
                 : nullptr;
    };
    for (CompletedEntry& c : done) c.entry = find(c);
    prefetch(done);
    for (const CompletedEntry& c : done) {
      auto* entry = lists.has_twice ? find(c) : c.entry;
      if (!entry) continue;
      complete(call, entry->first, &entry->second, call->written_status(c.status));
      if (!entry->second.persistent) forget(rank, rank->requests.extract(entry));
    }
  }
  complete_taken(call, done);
  sweep(rank);
  need_senders(call);
}

/// An empty operation under this handle.
RequestOperation& fresh_request(Rank* rank, MPI_Request handle) {
  if (auto* old = rank->requests.find(handle)) {
    end_regions(rank, 0, &old->second);
    return old->second = RequestOperation();
  }
  Rank::Requests::Node node;
  if (rank->spare_requests.empty()) {
    node = std::make_unique<Rank::Requests::TableEntry>();
  } else {
    node = std::move(rank->spare_requests.back());
    rank->spare_requests.pop_back();
  }
  node->first = handle;
  return rank->requests.insert(std::move(node))->second;
}

/// The operation of a request begins, unless the request is persistent: its buffers are in use.
void begin_operation(Rank* rank, MPI_Request handle, RequestOperation* op) {
  if (is_sent_handle(handle)) op->real = kSentHandle;
  if (op->active) begin_regions(rank, handle, op);
}

void record_made_requests(CheckedCall* call) {
  const int position = call->info().at.made;
  if (position < 0) return;
  auto* at = reinterpret_cast<MPI_Request*>(call->at(position));
  if (!at || *at == MPI_REQUEST_NULL) return;
  Rank* rank = call->rank();
  give_own_handle(rank, at);
  RequestOperation& op = fresh_request(rank, *at);
  const CallInfo& info = call->info();
  call->keep_in(&op.call);
  op.persistent = info.starts == Starts::kPersistent;
  op.active = !op.persistent;
  if (call->reach)
    op.regions.set(*call->reach, info.role == CallRole::kReceive);
  else if (call->has_lists())
    std::swap(op.regions, call->lists().regions);
  set_message(&op, call->message_id, call->receiver_world, call->comm);
  op.posted = std::move(call->posted);
  op.rare = info.synchronous || info.role < kFirstOfMessages || info.role > kLastOfMessages;
  if (op.rare) {
    op.collective = call->collective;
    op.made_in = rank->epoch;
  }
  if (is_partitioned(info)) record_partitioned_after(call, &op);
  begin_operation(rank, *at, &op);
}

void record_starts(CheckedCall* call) {
  for (MPI_Request handle : call->requests()) {
    auto found = call->rank()->requests.find(handle);
    if (!found) continue;
    RequestOperation& op = found->second;
    op.active = op.started_once = true;
    if (op.rare && op.collective.comm) g_process.order_unknown = true;
    if (!call->rank()->regions.empty()) check_started_buffers(call, op);
    begin_regions(call->rank(), handle, &op);
  }
}

void record_freed_handles(CheckedCall* call) {
  for (MPI_Request handle : call->requests()) {
    auto found = call->rank()->requests.find(handle);
    if (!found) continue;
    end_regions(call->rank(), 0, &found->second);
    if (found->second.posted) record_freed_receive(call->rank(), found->second.posted);
    call->rank()->requests.extract(found);
  }
}

/// MPI_Request_free is about to free the request of a send for which MPI_Cancel was called. A send
/// to another process may be cancelled later, when nobody can ask any more: its message is taken
/// for cancelled, because nothing was to receive it.
void withdraw_if_cancelled(const RequestOperation& op, MPI_Request request) {
  int complete = 0, cancelled = 0;
  MPI_Status status;
  g_next.MPI_Request_get_status(request, &complete, &status);
  if (complete) g_next.MPI_Test_cancelled(&status, &cancelled);
  if (cancelled || (!complete && !is_local(op.receiver_world)))
    withdraw_message(op.comm, op.receiver_world, op.message_id);
}

}  // namespace

void record_released_requests(CheckedCall* call) {
  learn_everything(call->rank());
  const auto release = [call](MPI_Request handle) {
    auto found = call->rank()->requests.find(handle);
    if (found) end_regions(call->rank(), handle, &found->second);
  };
  const auto* flag = static_cast<const int*>(call->pointer(&Positions::flag));
  if (flag && !*flag) return;
  const int one = call->find("request");
  if (one >= 0) return release(static_cast<MPI_Request>(call->at(one)));
  const auto [list, count] = requests_of(call->record(), call->find("array_of_requests"));
  const auto* index = static_cast<const int*>(call->pointer(&Positions::index));
  const auto* indices = static_cast<const int*>(call->pointer(&Positions::indices));
  if (index) {
    if (*index != MPI_UNDEFINED) release(list[*index]);
  } else if (indices) {
    const auto* some = static_cast<const int*>(call->pointer(&Positions::out_count));
    for (int i = 0; i < (*some == MPI_UNDEFINED ? 0 : *some); ++i) release(list[indices[i]]);
  } else {
    for (int64_t i = 0; i < count; ++i) release(list[i]);
  }
}

MPI_Request real_request(Rank* rank, MPI_Request request) {
  auto found = rank->requests.find(request);
  return !found || found->second.real == MPI_REQUEST_NULL ? request : found->second.real;
}

namespace {

/// The call frees a persistent request that no call has started. MPI allows that, and to wait for
/// such a request. A partitioned one matches that of the other rank when it is made, so that one
/// which is never started has a purpose: it takes a place in their order.
void check_never_started(const CheckedCall& call, const RequestOperation& op) {
  if (!op.persistent || op.started_once || op.active || is_partitioned(op.call->info())) return;
  report(FindingKind::kLeaks, "a persistent request is freed that was never started",
         "harmless if there was nothing to send or receive; MPI_Start begins the operation",
         {call.me(), participant(call.rank(), op.call, "made it")}, true);
}

}  // namespace

void check_requests_before(CheckedCall* call) {
  const auto [list, count] = requests_of(call->record(), call->info().at.given);
  if (!list || count <= 0) return;
  Rank* rank = call->rank();
  std::vector<MPI_Request>& requests = call->lists().requests;
  requests.assign(list, list + count);
  rank->given = requests;
  if (!rank->inside.empty()) check_concurrent_completions(call);
  const uint64_t this_list = ++rank->next_list;
  const bool frees = call->info().parameters[call->info().at.given].life == Life::kFreed;
  for (int64_t i = 0; i < count; ++i) {
    if (list[i] == MPI_REQUEST_NULL) continue;
    auto found = rank->requests.find(list[i]);
    if (!found) {
      check_foreign_request(call, list[i]);
      continue;
    }
    RequestOperation& op = found->second;
    if (op.seen == this_list) {
      call->lists().has_twice = true;
      report(FindingKind::kArguments, "a request is in the list twice",
             "each active request stands in a list once", {call->me()});
    }
    op.seen = this_list;
    if (frees) check_never_started(*call, op);
    if (call->info().role == CallRole::kStart && op.active)
      report(FindingKind::kArguments, "a persistent request is started while it is active",
             "MPI_Wait or a call like it completes a request before it is started again",
             {call->me(), participant(rank, op.call, "made it")});
    if (frees && op.active && op.posted && !op.released)
      report(FindingKind::kArguments,
             "an active receive is freed: nothing tells when its data are there",
             "harmless only if the program learns it otherwise; MPI_Wait completes a receive",
             {call->me(), participant(rank, op.call, "made it")}, true);
    if (call->info().role == CallRole::kStart && !op.active) start_message(call, &op);
    if (op.rare && op.partitioned) check_partitioned_before(call, &op);
    if (op.real != MPI_REQUEST_NULL) list[i] = op.real;
    if (op.cancelled && op.sends && op.active &&
        call->info().parameters[call->info().at.given].life == Life::kFreed)
      withdraw_if_cancelled(op, list[i]);
    if (call->had_threads() && call->info().role == CallRole::kCompletion)
      remove_pending_request(call, found);
  }
}

void record_requests_after(CheckedCall* call) {
  const int given = call->info().at.given;
  const Life life = given < 0 ? Life::kNothing : call->info().parameters[given].life;
  if (life == Life::kCompleted) record_completions(call);
  if (life == Life::kStarted) record_starts(call);
  if (life == Life::kFreed) record_freed_handles(call);
  if (life == Life::kChanged) {  // MPI_Cancel does not change the handle
    const auto [list, count] = requests_of(call->record(), given);
    if (!list || call->requests().empty()) return;
    *list = call->requests()[0];
    auto found = call->rank()->requests.find(*list);
    if (found) found->second.cancelled = true;
  }
  record_made_requests(call);
}

void record_repeated_collective(Rank* rank, RememberedCall* call,
                                const CollectiveCall& collective) {
  auto* at = reinterpret_cast<MPI_Request*>(call->at(call->info().at.made));
  if (*at == MPI_REQUEST_NULL) return;
  if (auto* old = rank->requests.find(*at)) {
    end_regions(rank, 0, &old->second);
    rank->requests.extract(old);
  }
  give_own_handle(rank, at);
  call->known &= ~RememberedCall::kOperation;
  Rank::Requests::Node node(std::exchange(call->operation, nullptr));
  node->first = *at;
  RequestOperation& op = rank->requests.insert(std::move(node))->second;
  op.call = SharedCall(call);
  op.active = true;
  op.collective = collective;
  begin_operation(rank, *at, &op);
}

Rank::Requests::TableEntry* repeated_wait(Rank* rank, MPI_Request request) {
  auto* entry = rank->requests.find(request);
  if (!entry) return nullptr;
  const RequestOperation& op = entry->second;
  const bool fit = op.rare && op.active && op.collective.comm && op.real == MPI_REQUEST_NULL &&
                   !op.persistent && !op.cancelled && !op.partitioned &&
                   op.call->info().role == CallRole::kCollective;
  return fit ? entry : nullptr;
}

void record_waited_collective(const WaitingCall& wait, Rank::Requests::TableEntry* entry) {
  RequestOperation& op = entry->second;
  end_regions(wait.rank, entry->first, &op);
  complete_collective(wait.rank, &wait, &op);
  forget(wait.rank, wait.rank->requests.extract(entry));
}

void make_operations(Rank* rank) {
  if (rank->wait) rank->given = *rank->wait->leave_to_call();
  for (const PendingOperation& b : rank->begun) {
    RememberedCall& call = *b.call;
    RequestOperation& op = fresh_request(rank, b.handle);
    op.call = SharedCall(b.call);
    op.persistent = op.rare = false;
    op.active = true;
    op.regions.set(call, !b.sends);
    if (b.sends) {
      const uint64_t message_id = message_id_of(*rank, b);
      set_message(&op, message_id, call.properties.receiver_world, call.properties.comm);
      op.posted.reset();
      if (b.receive_begun || has_receive_begun(rank, call, call.queue(), message_id))
        step_receive_begun(message_id);
    } else {
      set_message(&op, 0, -1, nullptr);
      op.posted = post_as(rank, op.call, receive_number_of(*rank, b));
      if (call.queue().is_there()) call.messages.queue->receives_waiting = 0;
    }
    begin_operation(rank, b.handle, &op);
    op.regions[0].checksum = b.word;
  }
  rank->begun.clear();
  rank->pending_sum = 0;
}

const RequestOperation* awaited_by(Rank* rank, const CallRecord& waiting) {
  make_operations(rank);
  const int position = waiting.info().at.given;
  if (position < 0 || waiting.info().role != CallRole::kCompletion) return nullptr;
  for (MPI_Request handle : rank->given) {
    auto found = rank->requests.find(handle);
    if (found && found->second.active) return &found->second;
  }
  return nullptr;
}

void report_requests_left(Rank* rank) {
  rank->requests.for_each([&](MPI_Request, const RequestOperation& op) {
    if (!op.persistent)
      report(FindingKind::kLeaks, "a request is never completed",
             "MPI_Wait, MPI_Test or a call like them completes each request",
             {participant(rank, op.call)});
    else if (op.active)
      report(FindingKind::kLeaks, "a persistent request is active at the end",
             "MPI_Wait or a call like it after each MPI_Start, then MPI_Request_free",
             {participant(rank, op.call, why_incomplete(op).c_str())});
    else
      report(FindingKind::kLeaks,
             op.started_once ? "a persistent request is never freed"
                             : "a persistent request is never started and never freed",
             "MPI_Request_free ends a persistent request", {participant(rank, op.call)});
  });
}

}  // namespace fgmpi::check
