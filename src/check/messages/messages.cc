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

/// Fills Sent. A record whose earlier messages had other properties is replaced by a new one.
void fill_sent(Rank* rank, SharedCall* record) {
  const CallRecord& call = **record;
  const Positions& at = call.info().at;
  Sent sent;
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(call.at(at.comm)));
  const int to = own ? own->comm->world_of(call.at(at.dest)) : MPI_UNDEFINED;
  if (to != MPI_UNDEFINED) {
    const auto type = static_cast<MPI_Datatype>(call.at(at.send_type));
    const int64_t count = call.at(at.send_count);
    const TypeLayout* l = layout_of(type);
    const TypeSignature signature = signature_of(type, count);
    sent = {signature.name(),
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
  if ((*record)->sent_before && !(sent == (*record)->sent)) *record = SharedCall(CallRecord(call));
  (*record)->sent = sent;
  (*record)->sent_before = true;
  (*record)->set_known(rank->epoch, RememberedCall::kSent);
}

/// Makes the message of a send. REQUIRES: RememberedCall::kSent.
QueuedMessage* make_message(Rank* rank, RememberedCall* record) {
  QueuedMessage* m = new_message();
  m->id = next_message(rank);
  m->known.near = rank->knows.near;
  const bool has_clock = rank->knows.clock != nullptr;
  if (has_clock) m->known.clock = rank->knows.clock;
  m->set({record->sent.contents, false, false, has_clock});
  m->call = SharedCall(record);
  return m;
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
void send_again(const QueuedMessage& m, bool begun) {
  const RememberedCall& call = *m.call;
  const int process = MPIX_Tool_process(call.sent.to);
  auto* wire = new (add_piece(process, sizeof(WireAgain))) WireAgain;
  wire->begun = begun;
  wire->from = g_process.me;
  wire->wire_call_number = call.wire_call_number;
  wire->id = m.id;
  wire->near = m.known.near;
  send_due_notices_to(process);
}

/// Announces a message to the receiver's process. `begun`: the send has begun in
/// the unbuffered run.
void send_wire(const QueuedMessage& m, bool begun) {
  RememberedCall* const call = m.call.get();
  if (call->wire_call_number && !m.has_clock) return send_again(m, begun);
  const Sent& sent = call->sent;
  const uint64_t comm_key = sent.comm->key;
  const int process = MPIX_Tool_process(sent.to);
  // A call that its rank does not remember will not be repeated, so it needs no number.
  if (!call->wire_call_number && call->rank) call->wire_call_number = g_numbers[process].reserve();
  WireMessage wire = {WireKind::kMessage,
                      sent.standard,
                      sent.signature.known,
                      sent.signature.packed,
                      begun,
                      sent.source,
                      sent.tag,
                      sent.source_world,
                      sent.to,
                      g_process.me,
                      call->wire_call_number,
                      comm_key,
                      m.id,
                      sent.signature.hash,
                      sent.signature.length,
                      sent.bytes,
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
    wire.kind = done < parts ? WireKind::kClock : WireKind::kMessage;
    MPIX_Tool_notify(process, &wire,
                     static_cast<int>(offsetof(WireMessage, clock) + n * sizeof(ClockPart)));
    if (done == parts) return;
  }
}

}  // namespace

void release_wire_number(RememberedCall* send) {
  g_numbers[MPIX_Tool_process(send->sent.to)].free.push_back(send->wire_call_number);
  send->wire_call_number = 0;
}

uint64_t send_as_message(Rank* rank, RememberedCall* record, MessageQueue* queue, bool* taken) {
  QueuedMessage* m = make_message(rank, record);
  const uint64_t id = m->id;
  const bool begun = step_send(rank, id, record->sent.to);
  if (queue) {
    m->begun = begun;
    *taken = queue->append(m);
  } else {
    send_wire(*m, begun);
    drop_message(m);
  }
  return id;
}

bool has_receive_begun(Rank* rank, const RememberedCall& send, const KnownQueue& known,
                       uint64_t message) {
  MessageQueue* queue = known.queue;
  if (!queue) return false;  // the receiver is in another process
  if (!known.is_there()) {
    const Sent& sent = send.sent;
    Inbox& inbox = inbox_of(sent.to);
    auto found = inbox.queues.find(key_of(send.sends_on, sent.source, sent.tag));
    if (found == inbox.queues.end()) return false;
    queue = &found->second;
  }
  if (!queue->is_taken(message)) return false;
  if (!rank->unbuffered.taken.empty()) forget_taken(&rank->unbuffered, message);
  return true;
}

RefPtr<CheckedReceive> post_as(Rank* rank, SharedCall kept, uint64_t number) {
  const CallRecord& record = *kept;
  const Positions& at = record.info().at;
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(record.at(at.comm)));
  const int source = static_cast<int>(record.at(at.source));
  if (!own || source == MPI_PROC_NULL) return {};
  auto posted = RefPtr<CheckedReceive>::make();
  posted->source = source;
  posted->tag = static_cast<int>(record.at(at.recv_tag));
  posted->comm = own->comm;
  posted->call = std::move(kept);
  posted->probe = posted->call->info().role == CallRole::kMatchedProbe;
  posted->number = number;
  rank->posted.push_back(posted);
  rank->in_turn = false;
  return posted;
}

namespace {

bool receives_too(const CallInfo& info) {
  return info.role == CallRole::kSendReceive || info.role == CallRole::kReplace;
}

void send_message(Rank* rank, SharedCall record, uint64_t* id, int* send_to, CheckedComm** comm) {
  if (!record->is_known(rank->epoch, RememberedCall::kSent)) fill_sent(rank, &record);
  const Sent& sent = record->sent;
  if (sent.to < 0) return;
  MessageQueue* queue = nullptr;
  if (is_local(sent.to)) {
    const bool also = receives_too(record->info());
    const KnownQueue known =
        queue_for(&inbox_of(sent.to), also ? record->sends_too : record->queue(), &record->sends_on,
                  sent.comm->key, sent.source, sent.tag);
    also ? void(record->sends_too = known) : record->set_queue(known);
    record->set_known(rank->epoch, RememberedCall::kSendsTo);
    queue = known.queue;
  }
  bool taken = false;
  *id = send_known(rank, record.get(), queue, true, &taken);
  *send_to = sent.to;
  *comm = sent.comm;
  if (taken) step_taken(*id);
}

RefPtr<CheckedReceive> post(Rank* rank, SharedCall kept) {
  auto posted = post_as(rank, std::move(kept), rank->next_posted + 1);
  if (!posted) return posted;
  ++rank->next_posted;
  if (!posted->probe) step_receive(rank, posted->number);
  return posted;
}

bool could_take(const CheckedReceive& p, int source, int tag) {
  return (p.source == MPI_ANY_SOURCE || p.source == source) &&
         (p.tag == MPI_ANY_TAG || p.tag == tag);
}

}  // namespace

void compare(Rank* rank, const QueuedMessage& m, const CallRecord& call, MPI_Datatype type,
             int64_t count, RememberedCall* kept) {
  if (kept && fits_as_before(*rank, m, *kept)) return;
  if (!m.signature().known) return;
  const TypeSignature taken = beginning_of(type, count, m.signature().length);
  if (!taken.known) return;
  if (m.signature() == taken) {
    if (kept && m.contents && !taken.packed) {
      kept->messages.fits = m.contents;
      kept->set_known(rank->epoch, RememberedCall::kFits);
    }
    return;
  }
  const TypeLayout* l = layout_of(type);
  const bool longer = l && m.bytes() > l->size * count;
  report(FindingKind::kTypes,
         longer ? "a message is longer than the receive that takes it"
                : "a message is received with other types than it is sent with",
         "the types of the receive, or the first of them, are those of the send, one by one",
         {participant(rank, call, "receives it"),
          {m.source_world(), m.call->info().name, arguments_of(m.call, nullptr), m.call->site,
           "sends it"}});
}

namespace {

/// Can the receive match messages of one queue only?
bool takes_from_one(const CallRecord& call) {
  const Positions& at = call.info().at;
  return call.at(at.source) != MPI_ANY_SOURCE && call.at(at.recv_tag) != MPI_ANY_TAG;
}

/// The queue from which the receive matches messages.
MessageQueue& queue_of(Rank* rank, RememberedCall* kept, const CheckedComm& comm, int source,
                       int tag) {
  kept->set_queue(
      queue_for(&inbox_of(rank->world), kept->queue(), &kept->takes_on, comm.key, source, tag));
  MessageQueue& queue = *kept->messages.queue;
  if (kept->is_known(rank->epoch, RememberedCall::kTakesFrom)) return queue;
  // The handle may have belonged to another communicator when the receive began.
  const OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(kept->at(kept->info().at.comm)));
  if (own && own->comm == &comm) kept->set_known(rank->epoch, RememberedCall::kTakesFrom);
  return queue;
}

/// The queue of the message that a receive has matched; for a receive whose request was freed, the
/// first queue that it could match from. Null: there is none.
MessageQueue* queue_of(Rank* rank, const CheckedReceive& p) {
  if (!p.freed && takes_from_one(*p.call))
    return &queue_of(rank, p.call.get(), *p.comm, p.real_source, p.real_tag);
  Inbox& inbox = inbox_of(rank->world);
  if (!p.freed) {
    auto found = inbox.queues.find(key_of(p.comm->key, p.real_source, p.real_tag));
    return found == inbox.queues.end() ? nullptr : &found->second;
  }
  for (auto& [key, queue] : inbox.queues)
    if (!queue.empty() && key.comm == p.comm->key >> 1 && could_take(p, key.source, key.tag))
      return &queue;
  return nullptr;
}

/// Removes the message that the receive has matched from its queue. Returns false where no
/// message is there.
bool resolve(Rank* rank, CheckedReceive* posted, bool in_order) {
  const CheckedReceive& p = *posted;
  MessageQueue* queue = queue_of(rank, p);
  if (!queue || !queue->first()) return false;
  QueuedMessage* m = queue->remove_first();
  inbox_of(rank->world).erase_if_many(*queue, key_of(p.comm->key, m->source(), m->tag()));
  if (!p.freed && in_order) {
    if (!p.probe) compare(rank, *m, p.call, p.type(), p.count(), p.call.get());
    record_matched_message(rank, *m, p);
  }
  const bool certain = !p.freed && in_order && !could_be_of_earlier(rank, *m, p.comm, p.number);
  if (p.probe) rank->matched.insert_or_assign(p.message, *m);
  if (certain) posted->taken = m->id;
  if (!p.probe && !m->matched) step_matched(rank, p.number, m->id, certain);
  drop_message(m);
  return true;
}

/// The rank learns the clock of the sender of a complete receive. Where it is uncertain which
/// message was matched, it learns that of the newest.
void merge_sender_clock(Rank* rank, const CheckedReceive& p, bool certain) {
  MessageQueue* queue = queue_of(rank, p);
  if (!queue || !queue->first()) return;
  rank->knows.learn((certain ? queue->list : queue->last)->known);
}

/// With more pending receives than this, messages are counted but not compared: it
/// would take too long.
constexpr size_t kMostPosted = 2000;

std::map<uint64_t, Clock> g_clocks;  ///< clocks of messages that have not arrived, by id

/// A call whose messages another process announces by a number.
struct ToldCall {
  SharedCall call;
  uint64_t comm = 0;  ///< key
  KnownQueue queue;
};
std::map<int, std::vector<ToldCall>> g_told;  ///< by process, then number

void reserve(const WireAgain& w) {
  std::vector<ToldCall>& all = g_told[w.from];
  if (w.wire_call_number >= all.size() || !all[w.wire_call_number].call) return;
  ToldCall& told = all[w.wire_call_number];
  const Sent& sent = told.call->sent;
  if (!told.queue.is_there())
    told.queue = {inbox_of(sent.to).queue(key_of(told.comm, sent.source, sent.tag)),
                  g_queues_erased};
  MessageQueue* queue = told.queue.queue;
  if (w.begun) on_step(0, {Progress::kBegun, w.id, 0});
  Knowledge known;
  known.near = w.near;
  bool taken;
  if (queue->has_place(told.call.get(), known)) {
    taken = queue->place(w.id, w.begun, true);
  } else {
    QueuedMessage* m = new_message();
    m->set({sent.contents, false, w.begun, false});
    m->id = w.id;
    m->call = told.call;
    m->known.near = w.near;
    taken = queue->append(m);
  }
  if (taken) step_taken(w.id);
}

void reserve(const WireMessage& w) {
  if (w.call.id >= kCallCount) return;
  Clock clock;
  if (w.parts || w.kind == WireKind::kClock)
    clock = std::make_shared<const std::vector<ClockPart>>(w.clock, w.clock + w.parts);
  if (!g_clocks.empty() || w.kind == WireKind::kClock) {
    Clock& before = g_clocks[w.id];
    learn(&before, clock);
    if (w.kind == WireKind::kClock) return;
    clock = before;
    g_clocks.erase(w.id);
  }
  if (w.begun) on_step(0, {Progress::kBegun, w.id, 0});
  QueuedMessage* m = new_message();
  m->id = w.id;
  m->call = SharedCall(w.call);
  const TypeSignature signature = {w.hash, w.length, w.known, w.packed};
  m->call->sent = {signature.name(), w.receiver, w.source,  nullptr, signature, w.tag,
                   w.source_world,   w.bytes,    w.standard};
  m->contents = signature.name();
  m->matched = 0;
  m->begun = w.begun;
  m->has_clock = clock != nullptr;
  m->known.clock = std::move(clock);
  m->known.near = w.near;
  if (w.wire_call_number) {
    std::vector<ToldCall>& all = g_told[w.from];
    if (w.wire_call_number >= all.size()) all.resize(w.wire_call_number + 1);
    all[w.wire_call_number] = {m->call, w.comm, {}};
  }
  if (inbox_of(w.receiver).queue(key_of(w.comm, w.source, w.tag))->append(m)) step_taken(m->id);
}

void reserve(const WireBack& w) {
  for (auto& [key, queue] : inbox_of(w.receiver).queues) {
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
    if (!p.cancelled) resolve(rank, &p, in_order);
    rank->posted.pop_front();
    --rank->posted_closed;
  }
  rank->in_turn = rank->posted.empty() && !rank->races;
  if (rank->posted_closed == 0) return;
  std::vector<const CheckedReceive*> open;
  size_t kept = 0;
  for (size_t i = 0; i < rank->posted.size(); ++i) {
    auto& posted = rank->posted[i];
    CheckedReceive& p = *posted;
    bool stays = p.open;
    if (p.open) open.push_back(&p);
    for (size_t k = 0; k < open.size() && !stays && in_order; ++k)
      stays = open[k]->comm == p.comm && could_take(*open[k], p.real_source, p.real_tag);
    // A receive whose request was freed may match a message that arrives later.
    if (!stays) stays = !p.cancelled && !resolve(rank, &p, in_order) && p.freed;
    if (stays) {
      if (kept != i) rank->posted[kept] = std::move(posted);
      ++kept;
    } else {
      --rank->posted_closed;
    }
  }
  rank->posted.resize(kept);
  rank->in_turn = kept == 0 && !rank->races;
}

void check_messages_before(CheckedCall* call) {
  const CallInfo& info = call->info();
  if (info.starts == Starts::kPersistent) return;
  Rank* rank = call->rank();
  const bool sends = info.role == CallRole::kSend, receives = info.role == CallRole::kReceive;
  const bool both = receives_too(info);
  if (sends || both) send_message(rank, call->kept(), &call->message, &call->send_to, &call->comm);
  if (receives || both || info.role == CallRole::kMatchedProbe) {
    // A blocking receive without an earlier one need not be entered into the list.
    call->alone = info.starts == Starts::kBlocking && rank->posted.empty() && !g_process.threads &&
                  info.role != CallRole::kMatchedProbe;
    if (!call->alone) call->posted = post(rank, call->kept());
  }
  if (info.role == CallRole::kMatchedReceive) {
    const auto* handle = static_cast<const int*>(call->pointer(&Positions::message));
    auto found = handle ? rank->matched.find(*handle) : rank->matched.end();
    if (found == rank->matched.end()) return;
    compare(rank, found->second, call->record(),
            static_cast<MPI_Datatype>(call->value(&Positions::recv_type)),
            call->value(&Positions::recv_count), nullptr);
    step_take(rank, found->second.id, true);
    rank->matched.erase(found);
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
      __builtin_prefetch(&queue->list->call->sent);
      prefetch_sender(*queue->list);
    }
}

void set_message(RequestOperation* op, uint64_t message, int send_to, CheckedComm* comm) {
  op->sends = message != 0;
  if (!op->sends) return;
  op->needs_receive = needs_receive(op->call->info());
  op->message = message;
  op->send_to = send_to;
  op->comm = comm;
}

void start_message(CheckedCall* call, RequestOperation* op) {
  const CallRole role = op->call->info().role;
  if (role == CallRole::kSend) {
    uint64_t message = 0;
    int send_to = -1;
    CheckedComm* comm = nullptr;
    send_message(call->rank(), op->call, &message, &send_to, &comm);
    set_message(op, message, send_to, comm);
  }
  if (role == CallRole::kReceive) op->posted = post(call->rank(), op->call);
}

namespace {

/// Handles the message that a blocking receive outside of Rank::posted has matched.
void taken_alone(const WaitingCall& waiting, const CallRecord& call, OwnComm* own,
                 const QueuedMessage& m, const MPI_Status& status, bool status_read) {
  Rank* rank = waiting.rank;
  const Positions& at = call.info().at;
  compare(rank, m, call, static_cast<MPI_Datatype>(call.at(at.recv_type)), call.at(at.recv_count),
          waiting.shared);
  ++rank->next_posted;
  rank->knows.learn(m.known);
  const bool of_any = call.at(at.source) == MPI_ANY_SOURCE;
  const bool certain = !could_be_of_earlier(rank, m, own->comm, rank->next_posted);
  if (!m.matched) step_take(rank, m.id, certain);
  if (certain && !of_any) step_need_begun(waiting, m.id, nullptr);
  if (!rank->races && !of_any) return;
  CheckedReceive p;
  p.source = static_cast<int>(call.at(at.source));
  p.tag = static_cast<int>(call.at(at.recv_tag));
  p.comm = own->comm;
  p.number = rank->next_posted;
  p.status_read = status_read;
  p.real_source = status.MPI_SOURCE;
  p.real_tag = status.MPI_TAG;
  p.call = waiting.record();
  if (p.source == MPI_ANY_SOURCE) p.event = next_event(rank);
  record_matched_message(rank, m, p);
}

/// Finds the message that MPI_Probe or MPI_Iprobe has found.
void probed(CheckedCall* call) {
  Rank* rank = call->rank();
  const MPI_Status* status = call->told();
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

void received_alone(const WaitingCall& waiting, const MPI_Status* status, bool status_read) {
  const CallRecord& call = *waiting.call;
  Rank* rank = waiting.rank;
  if (!status || status->MPI_SOURCE == MPI_PROC_NULL) return;
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(call.at(call.info().at.comm)));
  if (!own) return;
  Inbox& inbox = inbox_of(rank->world);
  const int source = status->MPI_SOURCE, tag = status->MPI_TAG;
  MessageQueue& queue = waiting.shared && takes_from_one(call)
                            ? queue_of(rank, waiting.shared, *own->comm, source, tag)
                            : *inbox.queue(key_of(own->comm->key, source, tag));
  if (!queue.first()) return;
  QueuedMessage* m = queue.remove_first();
  taken_alone(waiting, call, own, *m, *status, status_read);
  inbox.erase_if_many(queue, key_of(own->comm->key, source, tag));
  drop_message(m);
}

void record_messages_after(CheckedCall* call) {
  if (call->info().role == CallRole::kProbe) return probed(call);
  if (call->info().starts != Starts::kBlocking) return;
  if (call->alone) return received_alone(call->waiting(), call->told(), call->status_read());
  if (call->has(&Positions::flag) && !*static_cast<const int*>(call->pointer(&Positions::flag))) {
    received(call->rank(), call->posted, nullptr);
    return sweep(call->rank());
  }
  if (call->posted->probe)
    call->posted->message = *static_cast<const int*>(call->pointer(&Positions::message));
  call->posted->status_read = call->status_read();
  received(call->rank(), call->posted, call->told());
  sweep(call->rank());
  if (call->posted->taken && call->posted->source != MPI_ANY_SOURCE)
    step_need_begun(call->waiting(), call->posted->taken, nullptr);
}

void received(Rank* rank, const RefPtr<CheckedReceive>& posted, const MPI_Status* status) {
  if (posted->open) ++rank->posted_closed;
  posted->open = false;
  posted->cancelled = !status || status->MPI_SOURCE == MPI_PROC_NULL;
  if (posted->cancelled) return;
  posted->real_source = status->MPI_SOURCE;
  posted->real_tag = status->MPI_TAG;
  merge_sender_clock(rank, *posted, rank->posted.front().get() == posted.get());
  if (posted->source == MPI_ANY_SOURCE) posted->event = next_event(rank);
}

void receive_forgotten(Rank* rank, const RefPtr<CheckedReceive>& posted) {
  if (posted->open) ++rank->posted_closed;
  posted->open = false;
  posted->freed = true;
  posted->real_source = posted->source;
  posted->real_tag = posted->tag;
  sweep(rank);
}

void withdraw_message(const CheckedComm* comm, int send_to, uint64_t message) {
  if (!comm || send_to < 0) return;
  const WireBack wire = {WireKind::kBack, send_to, comm->key, message};
  if (is_local(send_to)) return reserve(wire);
  MPIX_Tool_notify(MPIX_Tool_process(send_to), &wire, sizeof wire);
}

bool is_taken(int result, const MPI_Status* status) {
  if (result == kThrown) return status && status->MPI_SOURCE != kNotTold;
  int error_class = MPI_SUCCESS;
  g_next.MPI_Error_class(result, &error_class);
  // The message is too long, or ends within an element. It has been received nevertheless.
  return error_class == MPI_ERR_TRUNCATE ||
         (error_class == MPI_ERR_TYPE && status && status->MPI_SOURCE != kNotTold);
}

void undo_messages(CheckedCall* call, int result) {
  const MPI_Status* status = call->told();
  const bool taken = is_taken(result, status);
  if (!taken) withdraw_message(call->comm, call->send_to, call->message);
  if (call->alone && taken) received_alone(call->waiting(), status, call->status_read());
  if (!call->posted) return;
  received(call->rank(), call->posted, taken ? status : nullptr);
  sweep(call->rank());
}

namespace {

/// The only queue from which the receive can match; null: there are several, or none.
MessageQueue* only_queue(Inbox& inbox, uint64_t comm_key, int source, int tag) {
  CheckedReceive wanted;
  wanted.source = source;
  wanted.tag = tag;
  MessageQueue* only = nullptr;
  for (auto& [key, queue] : inbox.queues) {
    if (key.comm != comm_key >> 1 || queue.empty() || !could_take(wanted, key.source, key.tag))
      continue;
    if (only) return nullptr;
    only = &queue;
  }
  return only;
}

bool report_longer(Rank* rank, const QueuedMessage& m, const CallRecord& call) {
  const Positions& at = call.info().at;
  const auto type = static_cast<MPI_Datatype>(call.at(at.recv_type));
  const TypeLayout* l = layout_of(type);
  if (!l || m.bytes() <= l->size * call.at(at.recv_count)) return false;
  const uint64_t before = g_process.reports;
  compare(rank, m, call, type, call.at(at.recv_count), nullptr);
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
    MessageQueue* queue = own ? only_queue(inbox, own->comm->key,
                                           static_cast<int>(current.at(current.info().at.source)),
                                           static_cast<int>(current.at(current.info().at.recv_tag)))
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
      if (!known && !takes_from_one(*p->call)) return false;
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
  WireBack back;
  const auto kind = static_cast<WireKind>(*static_cast<const uint8_t*>(data));
  const auto size = static_cast<size_t>(bytes);
  if (kind == WireKind::kProgress) return on_progress(data, size);
  if (kind == WireKind::kAgain) {
    WireAgain again;
    if (size != sizeof again) return;
    std::memcpy(static_cast<void*>(&again), data, size);
    return reserve(again);
  }
  if (kind == WireKind::kBack && size == sizeof back) {
    std::memcpy(&back, data, sizeof back);
    if (is_local(back.receiver)) reserve(back);
  } else if (kind != WireKind::kBack && size >= offsetof(WireMessage, clock) &&
             size <= sizeof message) {
    std::memcpy(static_cast<void*>(&message), data, size);
    if (is_local(message.receiver) &&
        size == offsetof(WireMessage, clock) + message.parts * sizeof(ClockPart))
      reserve(message);
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
