// Messages: each send is announced to the receiver's process before the message itself arrives, and
// compared with the receive that it matches.
//
// MPI's order determines which message a receive has matched: of the messages of one sender
// with one tag, the first belongs to the first posted of the receives that have matched any of
// them. So a complete receive waits here for earlier incomplete ones that could have matched
// the same messages.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/strings.h"
#include "check/call.h"
#include "check/extensions.h"
#include "check/messages/messages.h"
#include "check/wire/wire.h"

namespace fgmpi::check {
namespace {

bool is_standard(const CallInfo& info) {
  return !std::strncmp(info.operation, "Send", 4) || info.role == CallRole::kReplace;
}

/// Fills MessageProperties. A record whose earlier messages had other properties is replaced by a
/// new one.
void fill_properties(Rank* rank, SharedCall* record) {
  const CallRecord& call = **record;
  const Positions& at = call.info().at;
  MessageProperties properties;
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(call.at(at.comm)));
  const int to = own ? own->comm->world_of(call.at(at.dest)) : MPI_UNDEFINED;
  if (to != MPI_UNDEFINED) {
    const auto type = static_cast<MPI_Datatype>(call.at(at.send_type));
    const int64_t count = call.at(at.send_count);
    const TypeLayout* l = layout_of(type);
    const TypeSignature signature = signature_of(type, count);
    properties = {signature.name(),
                  to,
                  own->rank,
                  own->comm,
                  signature,
                  static_cast<int>(call.at(at.send_tag)),
                  rank->world,
                  l ? l->size * count : 0,
                  is_standard(call.info())};
  }
  // Messages of a type or communicator that had the same handle earlier may still be under way.
  if ((*record)->may_be_under_way && !(properties == (*record)->properties))
    *record = SharedCall(CallRecord(call));
  (*record)->properties = properties;
  (*record)->may_be_under_way = true;
  (*record)->set_known(rank->epoch, RememberedCall::kProperties);
}

/// The numbers that stand for calls in notices to one process (RememberedCall::wire_call_number).
struct Numbers {
  uint32_t last = 0;
  std::vector<uint32_t> free;
  uint32_t reserve() {
    if (free.empty()) return ++last;
    const uint32_t number = free.back();
    free.pop_back();
    return number;
  }
};
// Never destroyed: records are released until the process ends.
std::map<int, Numbers>& g_numbers = *new std::map<int, Numbers>;  ///< by process

/// Announces a message of a call that the receiver's process knows by number.
void announce_repeated_message(const QueuedMessage& m) {
  const RememberedCall& call = *m.call;
  const int process = MPIX_Tool_process(call.properties.receiver_world);
  auto* wire = new (add_piece(process, sizeof(WireRepeatedMessage))) WireRepeatedMessage;
  wire->send_begun = m.send_begun;
  wire->from = g_process.me;
  wire->wire_call_number = call.wire_call_number;
  wire->id = m.id;
  wire->near = m.known.near;
  send_due_notices_to(process);
}

/// Announces a message to the receiver's process.
void announce_to_process(const QueuedMessage& m) {
  RememberedCall* const call = m.call.get();
  if (call->wire_call_number && !m.has_clock) return announce_repeated_message(m);
  const MessageProperties& properties = call->properties;
  const uint64_t comm_key = properties.comm->key;
  const int process = MPIX_Tool_process(properties.receiver_world);
  // A call that its rank does not remember will not be repeated, so it needs no number.
  if (!call->wire_call_number && call->rank) call->wire_call_number = g_numbers[process].reserve();
  WireMessage wire = {WireKind::kMessage,
                      properties.standard,
                      properties.signature.known,
                      properties.signature.packed,
                      m.send_begun != 0,
                      properties.source,
                      properties.tag,
                      properties.source_world,
                      properties.receiver_world,
                      g_process.me,
                      call->wire_call_number,
                      comm_key,
                      m.id,
                      properties.signature.hash,
                      properties.signature.length,
                      properties.bytes,
                      m.known.near,
                      0,
                      *call,
                      {}};
  const size_t parts = m.known.clock ? m.known.clock->size() : 0;
  // Components of the clock that do not fit are sent before the message.
  for (size_t done = 0;;) {
    const size_t n = std::min(parts - done, std::size(wire.clock));
    for (size_t i = 0; i < n; ++i) wire.clock[i] = (*m.known.clock)[done + i];
    done += n;
    wire.parts = static_cast<uint32_t>(n);
    wire.kind = done < parts ? WireKind::kMessageClock : WireKind::kMessage;
    MPIX_Tool_notify(process, &wire,
                     static_cast<int>(offsetof(WireMessage, clock) + n * sizeof(ClockPart)));
    if (done == parts) return;
  }
}

}  // namespace

void release_wire_number(RememberedCall* send) {
  g_numbers[MPIX_Tool_process(send->properties.receiver_world)].free.push_back(
      send->wire_call_number);
  send->wire_call_number = 0;
}

uint64_t announce_queued_message(Rank* rank, RememberedCall* record, MessageQueue* queue,
                                 bool* receive_begun) {
  const uint64_t id = reserve_message_id(rank);
  const bool send_begun = step_send(rank, id, record->properties.receiver_world);
  rank->say_left();
  QueuedMessage* m =
      make_message(SharedCall(record), id, send_begun, rank->knows.near, rank->knows.clock);
  if (queue) {
    *receive_begun = queue->add_queued(m);
  } else {
    announce_to_process(*m);
    drop_message(m);
  }
  return id;
}

bool has_receive_begun(Rank* rank, const RememberedCall& send, const KnownQueue& known,
                       uint64_t message_id) {
  MessageQueue* queue = known.queue;
  if (!queue) return false;  // the receiver is in another process
  if (!known.is_there()) {
    const MessageProperties& properties = send.properties;
    Inbox& inbox = inbox_of(properties.receiver_world);
    auto found = inbox.queues.find(key_of(send.send_comm_key, properties.source, properties.tag));
    if (found == inbox.queues.end()) return false;
    queue = &found->second;
  }
  if (!queue->has_receive_begun(message_id)) return false;
  if (!rank->unbuffered.receives_begun.empty()) forget_receive_begun(&rank->unbuffered, message_id);
  return true;
}

RefPtr<CheckedReceive> post_as(Rank* rank, SharedCall kept, uint64_t number) {
  const CallRecord& record = *kept;
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(record.at(record.info().at.comm)));
  const int source = source_of(record);
  if (!own || source == MPI_PROC_NULL) return {};
  auto posted = RefPtr<CheckedReceive>::make();
  posted->source = source;
  posted->tag = receive_tag_of(record);
  posted->comm = own->comm;
  posted->call = std::move(kept);
  posted->probe = posted->call->info().role == CallRole::kMatchedProbe;
  posted->number = number;
  record_receive_begun(rank, posted.get());
  rank->posted.push_back(posted);
  rank->in_turn = false;
  return posted;
}

namespace {

void announce_sent_message(Rank* rank, SharedCall record, uint64_t* id, int* receiver_world,
                           CheckedComm** comm) {
  if (!record->is_known(rank->epoch, RememberedCall::kProperties)) fill_properties(rank, &record);
  const MessageProperties& properties = record->properties;
  if (properties.receiver_world < 0) return;
  MessageQueue* queue = nullptr;
  if (is_local(properties.receiver_world)) {
    const bool also = receives_too(record->info());
    const KnownQueue known =
        queue_for(&inbox_of(properties.receiver_world), also ? record->send_queue : record->queue(),
                  &record->send_comm_key, properties.comm->key, properties.source, properties.tag);
    also ? void(record->send_queue = known) : record->set_queue(known);
    record->set_known(rank->epoch, RememberedCall::kSendsTo);
    queue = known.queue;
  }
  bool receive_begun = false;
  *id = announce_message(rank, record.get(), queue, true, &receive_begun);
  *receiver_world = properties.receiver_world;
  *comm = properties.comm;
  if (receive_begun) step_receive_begun(*id);
}

RefPtr<CheckedReceive> post(Rank* rank, SharedCall kept) {
  auto posted = post_as(rank, std::move(kept), rank->next_posted + 1);
  if (!posted) return posted;
  if (posted->probe)
    ++rank->next_posted;
  else
    begin_posted_receive(rank);
  return posted;
}

bool may_match(const CheckedReceive& p, int source, int tag) {
  return (p.source == MPI_ANY_SOURCE || p.source == source) &&
         (p.tag == MPI_ANY_TAG || p.tag == tag);
}

}  // namespace

void check_message_types(Rank* rank, const QueuedMessage& m, const CallRecord& receive,
                         RememberedCall* kept) {
  if (kept && has_signature_matched(*rank, m, *kept)) return;
  if (!m.signature().known) return;
  const MPI_Datatype type = receive_type_of(receive);
  const int64_t count = receive_count_of(receive);
  const TypeSignature received = beginning_of(type, count, m.signature().length);
  if (!received.known) return;
  if (m.signature() == received) {
    if (kept && m.signature_name && !received.packed) {
      kept->messages.matched_signature = m.signature_name;
      kept->set_known(rank->epoch, RememberedCall::kSignatureMatched);
    }
    return;
  }
  const TypeLayout* l = layout_of(type);
  const bool longer = l && m.bytes() > l->size * count;
  report(FindingKind::kTypes,
         longer ? "a message is longer than the receive that takes it"
                : "a message is received with other types than it is sent with",
         "the types of the receive, or the first of them, are those of the send, one by one",
         {participant(rank, receive, "receives it"),
          {m.source_world(), m.call->info().name, arguments_of(m.call, nullptr), m.call->site,
           "sends it"}});
}

namespace {

/// Can the receive match messages of one queue only?
bool receives_from_one(const CallRecord& call) {
  return source_of(call) != MPI_ANY_SOURCE && receive_tag_of(call) != MPI_ANY_TAG;
}

/// The queue from which the receive matches messages.
MessageQueue& queue_of(Rank* rank, RememberedCall* kept, const CheckedComm& comm, int source,
                       int tag) {
  kept->set_queue(queue_for(&inbox_of(rank->world), kept->queue(), &kept->receive_comm_key,
                            comm.key, source, tag));
  MessageQueue& queue = *kept->messages.queue;
  if (kept->is_known(rank->epoch, RememberedCall::kReceivesFrom)) return queue;
  // The handle may have belonged to another communicator when the receive began.
  const OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(kept->at(kept->info().at.comm)));
  if (own && own->comm == &comm) kept->set_known(rank->epoch, RememberedCall::kReceivesFrom);
  return queue;
}

/// The queue of the message that a receive has matched; for a receive whose request was freed, the
/// first queue that it could match from. Null: there is none.
MessageQueue* queue_of(Rank* rank, const CheckedReceive& p) {
  if (!p.freed && receives_from_one(*p.call))
    return &queue_of(rank, p.call.get(), *p.comm, p.real_source, p.real_tag);
  Inbox& inbox = inbox_of(rank->world);
  if (!p.freed) {
    auto found = inbox.queues.find(key_of(p.comm->key, p.real_source, p.real_tag));
    return found == inbox.queues.end() ? nullptr : &found->second;
  }
  for (auto& [key, queue] : inbox.queues)
    if (!queue.empty() && key.comm == p.comm->key >> 1 && may_match(p, key.source, key.tag))
      return &queue;
  return nullptr;
}

/// Removes the message that the receive has matched from its queue. Returns false where no
/// message is there.
bool remove_matched_message(Rank* rank, CheckedReceive* posted, bool in_order) {
  const CheckedReceive& p = *posted;
  MessageQueue* queue = queue_of(rank, p);
  if (!queue || !queue->first()) return false;
  QueuedMessage* m = queue->remove_first();
  inbox_of(rank->world).erase_if_many(*queue, key_of(p.comm->key, m->source(), m->tag()));
  if (!p.freed && in_order) {
    if (!p.probe) check_message_types(rank, *m, p.call, p.call.get());
    record_matched_message(rank, *m, p);
  }
  const bool certain = !p.freed && in_order && !could_be_of_earlier(rank, *m, p.comm, p.number);
  if (p.probe) rank->probed_messages.insert_or_assign(p.message_handle, *m);
  if (certain) posted->matched_message_id = m->id;
  if (!p.probe)
    record_posted_match(
        rank, [&] { return p.number; }, as_placed(*m), queue, certain);
  drop_message(m);
  return true;
}

/// The rank learns the clock of the sender of a complete receive. Where it is uncertain which
/// message was matched, it learns that of the newest, which hides races but reports none falsely.
void merge_sender_clock(Rank* rank, const CheckedReceive& p, bool certain) {
  MessageQueue* queue = queue_of(rank, p);
  if (!queue || !queue->first()) return;
  rank->knows.learn(queue->list->known);
  if (!certain) rank->knows.learn_at_most(queue->last->known);
}

/// With more pending receives than this, messages are counted but not compared: it
/// would take too long.
constexpr size_t kMostPosted = 2000;

std::map<uint64_t, Clock> g_clocks;  ///< clocks of messages that have not arrived, by id

/// A call whose messages another process announces by a number.
struct AnnouncedCall {
  SharedCall call;
  uint64_t comm = 0;  ///< key
  KnownQueue queue;
};
std::map<int, std::vector<AnnouncedCall>> g_announced_calls;  ///< by process, then number

void add_announced(const WireRepeatedMessage& w) {
  std::vector<AnnouncedCall>& all = g_announced_calls[w.from];
  if (w.wire_call_number >= all.size() || !all[w.wire_call_number].call) return;
  AnnouncedCall& announced = all[w.wire_call_number];
  const MessageProperties& properties = announced.call->properties;
  if (!announced.queue.is_there())
    announced.queue = {inbox_of(properties.receiver_world)
                           .queue(key_of(announced.comm, properties.source, properties.tag)),
                       g_queues_erased};
  MessageQueue* queue = announced.queue.queue;
  if (w.send_begun) on_step(0, {Progress::kSendBegun, w.id, 0});
  Knowledge known;
  known.near = w.near;
  bool receive_begun;
  if (queue->has_place(announced.call.get(), known)) {
    receive_begun = queue->add_placed(w.id, w.send_begun, true);
  } else {
    receive_begun = queue->add_queued(make_message(announced.call, w.id, w.send_begun, w.near));
  }
  if (receive_begun) step_receive_begun(w.id);
}

void add_announced(const WireMessage& w) {
  if (w.call.id >= kCallCount) return;
  Clock clock;
  if (w.parts || w.kind == WireKind::kMessageClock)
    clock = std::make_shared<const std::vector<ClockPart>>(w.clock, w.clock + w.parts);
  if (!g_clocks.empty() || w.kind == WireKind::kMessageClock) {
    Clock& before = g_clocks[w.id];
    learn(&before, clock);
    if (w.kind == WireKind::kMessageClock) return;
    clock = before;
    g_clocks.erase(w.id);
  }
  if (w.send_begun) on_step(0, {Progress::kSendBegun, w.id, 0});
  const SharedCall call(w.call);
  const TypeSignature signature = {w.hash, w.length, w.known, w.packed};
  call->properties = {signature.name(), w.receiver_world, w.source,  nullptr, signature, w.tag,
                      w.source_world,   w.bytes,          w.standard};
  QueuedMessage* m = make_message(call, w.id, w.send_begun, w.near, clock);
  if (w.wire_call_number) {
    std::vector<AnnouncedCall>& all = g_announced_calls[w.from];
    if (w.wire_call_number >= all.size()) all.resize(w.wire_call_number + 1);
    all[w.wire_call_number] = {call, w.comm, {}};
  }
  if (inbox_of(w.receiver_world).queue(key_of(w.comm, w.source, w.tag))->add_queued(m))
    step_receive_begun(w.id);
}

void add_announced(const WireWithdrawnMessage& w) {
  for (auto& [key, queue] : inbox_of(w.receiver_world).queues) {
    if (key.comm != w.comm >> 1 || !queue.first()) continue;
    QueuedMessage** at = &queue.list;
    queue.last = nullptr;
    while (QueuedMessage* m = *at) {
      if (m->id == w.id) {
        *at = m->next;
        drop_message(m);
        continue;
      }
      queue.last = m;
      at = &m->next;
    }
  }
}

}  // namespace

void sweep(Rank* rank) {
  const bool in_order = rank->posted.size() <= kMostPosted;
  while (!rank->posted.empty() && !rank->posted.front()->open && !rank->posted.front()->freed) {
    CheckedReceive& p = *rank->posted.front();
    if (!p.cancelled) remove_matched_message(rank, &p, in_order);
    rank->posted.pop_front();
    --rank->posted_closed;
  }
  rank->in_turn = rank->posted.empty() && !rank->races && !g_process.sends_ready;
  if (rank->posted_closed == 0) return;
  std::vector<const CheckedReceive*> open;
  size_t kept = 0;
  for (size_t i = 0; i < rank->posted.size(); ++i) {
    auto& posted = rank->posted[i];
    CheckedReceive& p = *posted;
    bool stays = p.open;
    if (p.open) open.push_back(&p);
    for (size_t k = 0; k < open.size() && !stays && in_order; ++k)
      stays = open[k]->comm == p.comm && may_match(*open[k], p.real_source, p.real_tag);
    // A receive whose request was freed may match a message that arrives later.
    if (!stays) stays = !p.cancelled && !remove_matched_message(rank, &p, in_order) && p.freed;
    if (stays) {
      if (kept != i) rank->posted[kept] = std::move(posted);
      ++kept;
    } else {
      --rank->posted_closed;
    }
  }
  rank->posted.resize(kept);
  rank->in_turn = kept == 0 && !rank->races && !g_process.sends_ready;
}

void check_messages_before(CheckedCall* call) {
  const CallInfo& info = call->info();
  if (info.starts == Starts::kPersistent) return;
  Rank* rank = call->rank();
  const bool sends = info.role == CallRole::kSend, receives = info.role == CallRole::kReceive;
  const bool both = receives_too(info);
  if (sends || both)
    announce_sent_message(rank, call->kept(), &call->message_id, &call->receiver_world,
                          &call->comm);
  if (receives || both || info.role == CallRole::kMatchedProbe) {
    // A blocking receive without an earlier one need not be entered into the list.
    call->alone = info.starts == Starts::kBlocking && rank->posted.empty() && !g_process.threads &&
                  !g_process.sends_ready && info.role != CallRole::kMatchedProbe;
    if (!call->alone)
      call->posted = post(rank, call->kept());
    else  // so that a deadlock can name messages on the communicator
      rank->comm_of(static_cast<MPI_Comm>(call->value(&Positions::comm)));
  }
  if (info.role == CallRole::kMatchedReceive) {
    const auto* handle = static_cast<const int*>(call->pointer(&Positions::message));
    auto found = handle ? rank->probed_messages.find(*handle) : rank->probed_messages.end();
    if (found == rank->probed_messages.end()) return;
    check_message_types(rank, found->second, call->record(), nullptr);
    step_receive_message(rank, found->second.id, true);
    rank->probed_messages.erase(found);
  }
}

void prefetch_messages(std::span<const CompletedEntry> done) {
  auto queue_of = [](const CompletedEntry& c) -> const MessageQueue* {
    if (!c.entry || !c.entry->second.posted) return nullptr;
    const KnownQueue from = c.entry->second.posted->call->queue();
    return from.is_there() ? from.queue : nullptr;
  };
  for (const CompletedEntry& c : done)
    if (const MessageQueue* queue = queue_of(c)) __builtin_prefetch(queue);
  for (const CompletedEntry& c : done)
    if (const MessageQueue* queue = queue_of(c)) {
      __builtin_prefetch(queue->list);
      __builtin_prefetch(reinterpret_cast<const char*>(queue->list) + 64);
    }
  for (const CompletedEntry& c : done)
    if (const MessageQueue* queue = queue_of(c); queue && queue->list) {
      __builtin_prefetch(&queue->list->call->users);
      __builtin_prefetch(&queue->list->call->properties);
      prefetch_sender(*queue->list);
    }
}

void set_message(RequestOperation* op, uint64_t message_id, int receiver_world, CheckedComm* comm) {
  op->sends = message_id != 0;
  if (!op->sends) return;
  op->needs_receive = needs_receive(op->call->info());
  op->message_id = message_id;
  op->receiver_world = receiver_world;
  op->comm = comm;
}

void start_message(CheckedCall* call, RequestOperation* op) {
  const CallRole role = op->call->info().role;
  if (role == CallRole::kSend) {
    uint64_t message_id = 0;
    int receiver_world = -1;
    CheckedComm* comm = nullptr;
    announce_sent_message(call->rank(), op->call, &message_id, &receiver_world, &comm);
    set_message(op, message_id, receiver_world, comm);
  }
  if (role == CallRole::kReceive) op->posted = post(call->rank(), op->call);
}

namespace {

/// Looks for races of a blocking receive outside of Rank::posted and the message that it has
/// matched. REQUIRES: record_lone_match().
void record_lone_races(const WaitingCall& receive, CheckedComm* comm, const QueuedMessage& m,
                       const MPI_Status& status, bool status_read) {
  Rank* rank = receive.rank;
  CheckedReceive p;
  p.source = source_of(*receive.call);
  p.tag = receive_tag_of(*receive.call);
  p.comm = comm;
  p.number = rank->next_posted;
  p.status_read = status_read;
  p.real_source = status.MPI_SOURCE;
  p.real_tag = status.MPI_TAG;
  p.call = receive.record();
  if (p.source == MPI_ANY_SOURCE) p.event = next_event(rank);
  record_matched_message(rank, m, p);
}

/// Finds the message that MPI_Probe or MPI_Iprobe has found.
void probed(CheckedCall* call) {
  Rank* rank = call->rank();
  const MPI_Status* status = call->written_status();
  if (call->has(&Positions::flag) && !*static_cast<const int*>(call->pointer(&Positions::flag)))
    return;
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(call->value(&Positions::comm)));
  if (!own || !status || status->MPI_SOURCE == MPI_PROC_NULL) return;
  Inbox& inbox = inbox_of(rank->world);
  auto found = inbox.queues.find(key_of(own->comm->key, status->MPI_SOURCE, status->MPI_TAG));
  if (found != inbox.queues.end() && found->second.first())
    record_probed_message(call, *found->second.list);
}

}  // namespace

void record_lone_receive(const WaitingCall& waiting, const MPI_Status* status, bool status_read) {
  const CallRecord& call = *waiting.call;
  Rank* rank = waiting.rank;
  if (!status || status->MPI_SOURCE == MPI_PROC_NULL) return;
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(call.at(call.info().at.comm)));
  if (!own) return;
  Inbox& inbox = inbox_of(rank->world);
  const int source = status->MPI_SOURCE, tag = status->MPI_TAG;
  MessageQueue& queue = waiting.shared && receives_from_one(call)
                            ? queue_of(rank, waiting.shared, *own->comm, source, tag)
                            : *inbox.queue(key_of(own->comm->key, source, tag));
  if (!queue.first()) return;
  QueuedMessage* m = queue.remove_first();
  check_removed_message(rank, *m, call, waiting.shared);
  const bool of_any = source_of(call) == MPI_ANY_SOURCE;
  const bool certain = !could_be_of_earlier(rank, *m, own->comm, rank->next_posted + 1);
  record_lone_match(
      rank, [&] { return waiting; }, as_placed(*m), &queue, certain, certain && !of_any);
  if (rank->races || of_any) record_lone_races(waiting, own->comm, *m, *status, status_read);
  drop_removed_message(rank, queue, key_of(own->comm->key, source, tag), m);
}

void record_messages_after(CheckedCall* call) {
  if (call->info().role == CallRole::kProbe) return probed(call);
  if (call->alone)
    return record_lone_receive(call->waiting(), call->written_status(), call->status_read());
  if (!call->posted) return;
  if (call->has(&Positions::flag) && !*static_cast<const int*>(call->pointer(&Positions::flag))) {
    record_receive_complete(call->rank(), call->posted, nullptr);
    return sweep(call->rank());
  }
  if (call->posted->probe)
    call->posted->message_handle = *static_cast<const int*>(call->pointer(&Positions::message));
  call->posted->status_read = call->status_read();
  record_receive_complete(call->rank(), call->posted, call->written_status());
  sweep(call->rank());
  if (call->posted->matched_message_id && call->posted->source != MPI_ANY_SOURCE)
    step_need_send(call->waiting(), call->posted->matched_message_id, nullptr);
}

void record_receive_complete(Rank* rank, const RefPtr<CheckedReceive>& posted,
                             const MPI_Status* status) {
  if (posted->open) ++rank->posted_closed;
  posted->open = false;
  posted->cancelled = !status || status->MPI_SOURCE == MPI_PROC_NULL;
  if (posted->cancelled) return;
  posted->real_source = status->MPI_SOURCE;
  posted->real_tag = status->MPI_TAG;
  merge_sender_clock(rank, *posted, rank->posted.front().get() == posted.get());
  if (posted->source == MPI_ANY_SOURCE) posted->event = next_event(rank);
}

void record_freed_receive(Rank* rank, const RefPtr<CheckedReceive>& posted) {
  if (posted->open) ++rank->posted_closed;
  posted->open = false;
  posted->freed = true;
  posted->real_source = posted->source;
  posted->real_tag = posted->tag;
  // The last receive keeps no other waiting. Where no message is there for it, nothing changes: a
  // program that posts and frees receives without end does not look at all of them each time.
  if (rank->posted.back().get() != posted.get() || queue_of(rank, *posted)) sweep(rank);
}

void withdraw_message(const CheckedComm* comm, int receiver_world, uint64_t message_id) {
  if (!comm || receiver_world < 0) return;
  const WireWithdrawnMessage wire = {WireKind::kWithdrawnMessage, receiver_world, comm->key,
                                     message_id};
  if (is_local(receiver_world)) return add_announced(wire);
  MPIX_Tool_notify(MPIX_Tool_process(receiver_world), &wire, sizeof wire);
}

bool has_matched_despite_error(int result, const MPI_Status* status) {
  if (result == kThrown) return status && status->MPI_SOURCE != kNoSource;
  int error_class = MPI_SUCCESS;
  g_next.MPI_Error_class(result, &error_class);
  // The message is too long, or ends within an element. It has been received nevertheless.
  return error_class == MPI_ERR_TRUNCATE ||
         (error_class == MPI_ERR_TYPE && status && status->MPI_SOURCE != kNoSource);
}

void undo_messages(const FailedCall& failed) {
  Rank* rank = failed.call.rank;
  const bool matched = has_matched_despite_error(failed.result, failed.status);
  if (!matched) withdraw_message(failed.comm, failed.receiver_world, failed.message_id);
  if (failed.receives_alone && matched)
    record_lone_receive(failed.call, failed.status, failed.status_read);
  RememberedCall* shared = failed.call.shared;
  if (failed.receives_alone && !matched && shared && shared->queue().is_there())
    shared->messages.queue->receives_waiting = 0;
  if (!failed.posted) return;
  record_receive_complete(rank, failed.posted, matched ? failed.status : nullptr);
  sweep(rank);
}

void undo_messages(CheckedCall* call) {
  undo_messages({.call = call->waiting(),
                 .result = call->result(),
                 .comm = call->comm,
                 .receiver_world = call->receiver_world,
                 .message_id = call->message_id,
                 .receives_alone = call->alone,
                 .status = call->written_status(),
                 .status_read = call->status_read(),
                 .posted = call->posted});
}

void record_repeated_error(const FailedCall& failed) {
  const uint64_t before = g_process.reports;
  undo_messages(failed);
  if (g_process.reports == before)
    report_error_result(failed.call.rank, *failed.call.call, failed.result);
}

void record_send_after(CheckedCall* call) {
  if (!call->message_id) return;
  const CallInfo& info = call->info();
  if (info.synchronous && call->receiver_world >= 0)
    record_synchronous_end(call->rank(), call->receiver_world);
  if (needs_receive(info)) step_need_receive(call->waiting(), call->message_id, nullptr);
}

namespace {

/// The only queue from which the receive can match; null: there are several, or none.
MessageQueue* only_queue(Inbox& inbox, uint64_t comm_key, int source, int tag) {
  CheckedReceive wanted;
  wanted.source = source;
  wanted.tag = tag;
  MessageQueue* only = nullptr;
  for (auto& [key, queue] : inbox.queues) {
    if (key.comm != comm_key >> 1 || queue.empty() || !may_match(wanted, key.source, key.tag))
      continue;
    if (only) return nullptr;
    only = &queue;
  }
  return only;
}

bool report_longer(Rank* rank, const QueuedMessage& m, const CallRecord& call) {
  const TypeLayout* l = layout_of(receive_type_of(call));
  if (!l || m.bytes() <= l->size * receive_count_of(call)) return false;
  const uint64_t before = g_process.reports;
  check_message_types(rank, m, call, nullptr);
  return g_process.reports != before;
}

}  // namespace

bool report_too_long(Rank* rank, const CallRecord& current) {
  handle_arrived();
  make_operations(rank);
  Inbox& inbox = inbox_of(rank->world);
  if (rank->posted.empty()) {
    const bool receives =
        current.info().role == CallRole::kReceive || current.info().role == CallRole::kSendReceive;
    OwnComm* own = receives
                       ? rank->comm_of(static_cast<MPI_Comm>(current.at(current.info().at.comm)))
                       : nullptr;
    MessageQueue* queue =
        own ? only_queue(inbox, own->comm->key, source_of(current), receive_tag_of(current))
            : nullptr;
    return queue && report_longer(rank, *queue->first(), current);
  }
  // Receives match messages of one sender in the order of posting.
  std::unordered_map<const MessageQueue*, const QueuedMessage*> next;
  for (const auto& p : rank->posted) {
    if (p->freed || p->probe) return false;
    if (p->cancelled) continue;
    const bool known = !p->open;
    MessageQueue* queue = only_queue(inbox, p->comm->key, known ? p->real_source : p->source,
                                     known ? p->real_tag : p->tag);
    if (!queue) {
      if (!known && !receives_from_one(*p->call)) return false;
      continue;  // no message has arrived
    }
    const QueuedMessage*& m = next.try_emplace(queue, queue->first()).first->second;
    if (!m) continue;
    if (report_longer(rank, *m, p->call)) return true;
    m = m->next;
  }
  return false;
}

void on_message(const void* data, int bytes) {
  WireMessage message;
  WireWithdrawnMessage back;
  const auto kind = static_cast<WireKind>(*static_cast<const uint8_t*>(data));
  const auto size = static_cast<size_t>(bytes);
  if (kind == WireKind::kProgress) return on_progress(data, size);
  if (kind == WireKind::kLeftEarly) return on_left_early(data, size);
  if (kind == WireKind::kRepeatedMessage) {
    WireRepeatedMessage again;
    if (size != sizeof again) return;
    std::memcpy(static_cast<void*>(&again), data, size);
    return add_announced(again);
  }
  if (kind == WireKind::kWithdrawnMessage && size == sizeof back) {
    std::memcpy(&back, data, sizeof back);
    if (is_local(back.receiver_world)) add_announced(back);
  } else if (kind != WireKind::kWithdrawnMessage && size >= offsetof(WireMessage, clock) &&
             size <= sizeof message) {
    std::memcpy(static_cast<void*>(&message), data, size);
    if (is_local(message.receiver_world) &&
        size == offsetof(WireMessage, clock) + message.parts * sizeof(ClockPart))
      add_announced(message);
  }
}

void report_messages_left() {
  for (const auto& rank : g_process.all)
    if (rank) sweep(rank.get());
  for (size_t i = 0; i < g_process.inboxes.size(); ++i)
    for (auto& [from, queue] : g_process.inboxes[i].queues)
      for (const QueuedMessage* m = queue.first(); m; m = m->next) {
        for (const auto& [key, comm] : g_process.comms)
          if (key >> 1 == from.comm && g_process.all[i])
            check_unreceived_message(g_process.all[i].get(), *m, comm.get());
        report(FindingKind::kMessages, "a message is never received",
               "each message that is sent is received, or its send cancelled",
               {{m->source_world(), m->call->info().name, arguments_of(m->call, nullptr),
                 m->call->site, ""}});
      }
  for (const auto& rank : g_process.all)
    if (rank) report_races(rank.get());
}

}  // namespace fgmpi::check
