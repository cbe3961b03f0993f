// Messages: what is sent, told to the receiver's process before the message itself comes in, and compared with what
// receives it.
//
// Which message a receive has taken follows from MPI's order: of the messages of one sender with one tag, the first goes to
// the receive that was posted first of those that have taken any of them. So a receive that is complete waits here for
// earlier ones that are not and could have taken the same.
#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "tools/check/call.h"
#include "tools/check/extensions.h"
#include "tools/check/wire.h"

namespace fgmpi::check {
namespace {

int64_t value_of(const CallRecord& record, std::initializer_list<const char*> names) {
  for (const char* name : names)
    for (int i = 0; i < record.info().count; ++i)
      if (!std::strcmp(record.info().parameters[i].name, name)) return record.words[i];
  return 0;
}

/// Messages to one receiver have one name of their communicator, on both sides of an intercommunicator.
Inbox& inbox_of(uint64_t comm_key, int receiver_world) {
  return g_process
      .inboxes[(comm_key >> 1) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(receiver_world)];
}

bool is_standard(const CallInfo& info) {
  return !std::strncmp(info.operation, "Send", 4) || info.role == Role::kReplace;
}

Message make_message(Rank* rank, const CallRecord& record, const OwnComm& own) {
  Message m;
  m.id = static_cast<uint64_t>(rank->world) << 32 | ++rank->next_message;
  m.source = own.rank;
  m.tag = static_cast<int>(value_of(record, {"sendtag", "tag"}));
  m.source_world = rank->world;
  const auto type = static_cast<MPI_Datatype>(value_of(record, {"sendtype", "datatype"}));
  const int64_t count = value_of(record, {"sendcount", "count"});
  m.signature = signature_of(type, count);
  const Layout* l = layout_of(type);
  m.bytes = l ? l->size * count : 0;
  m.call = record;
  m.standard = is_standard(record.info());
  return m;
}

void send_message(Rank* rank, const CallRecord& record, uint64_t* id, int* send_to, Comm** comm) {
  const int dest = static_cast<int>(value_of(record, {"dest"}));
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(value_of(record, {"comm"})));
  if (!own || dest < 0 || dest >= static_cast<int>(own->comm->peers().size())) return;
  const int to = own->comm->peers()[static_cast<size_t>(dest)];
  if (to == MPI_UNDEFINED) return;
  Message m = make_message(rank, record, *own);
  *id = m.id;
  *send_to = to;
  *comm = own->comm;
  if (is_local(to)) {
    inbox_of(own->comm->key, to).messages[{m.source, m.tag}].push_back(std::move(m));
    return;
  }
  const WireMessage wire = {WireKind::kMessage,
                            m.standard,
                            m.signature.known,
                            m.signature.packed,
                            m.source,
                            m.tag,
                            m.source_world,
                            to,
                            own->comm->key,
                            m.id,
                            m.signature.hash,
                            m.signature.length,
                            m.bytes,
                            m.call};
  MPIX_Tool_notify(MPIX_Tool_process(to), &wire, sizeof wire);
}

std::shared_ptr<Posted> post(Rank* rank, const CallRecord& record) {
  OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(value_of(record, {"comm"})));
  const int source = static_cast<int>(value_of(record, {"source"}));
  if (!own || source == MPI_PROC_NULL) return nullptr;
  auto posted = std::make_shared<Posted>();
  posted->source = source;
  posted->tag = static_cast<int>(value_of(record, {"recvtag", "tag"}));
  posted->comm = own->comm;
  posted->call = record;
  posted->type = static_cast<MPI_Datatype>(value_of(record, {"recvtype", "datatype"}));
  posted->count = value_of(record, {"recvcount", "count"});
  posted->probe = record.info().role == Role::kMatchedProbe;
  rank->posted.push_back(posted);
  return posted;
}

bool could_take(const Posted& p, int source, int tag) {
  return (p.source == MPI_ANY_SOURCE || p.source == source) &&
         (p.tag == MPI_ANY_TAG || p.tag == tag);
}

void compare(Rank* rank, const Message& m, const CallRecord& call, MPI_Datatype type,
             int64_t count) {
  if (!m.signature.known) return;
  const Signature taken = beginning_of(type, count, m.signature.length);
  if (!taken.known || m.signature == taken) return;
  const Layout* l = layout_of(type);
  const bool longer = l && m.bytes > l->size * count;
  report(Kind::kTypes,
         longer ? "a message is longer than the receive that takes it"
                : "a message is received with other types than it is sent with",
         "the types of the receive, or the first of them, are those of the send, one by one",
         {participant(rank, call, "receives it"),
          {m.source_world, m.call.info().name, arguments_of(m.call, nullptr), m.call.site,
           "sends it"}});
}

/// The queue of what the receive has taken; of one that nobody has seen complete, the first that it could have.
std::deque<Message>* queue_of(Inbox* inbox, const Posted& p) {
  if (!p.freed) {
    auto found = inbox->messages.find({p.real_source, p.real_tag});
    return found == inbox->messages.end() ? nullptr : &found->second;
  }
  for (auto& [key, queue] : inbox->messages)
    if (!queue.empty() && could_take(p, key.first, key.second)) return &queue;
  return nullptr;
}

/// Takes the message out that the receive has taken. False: it is not there.
bool resolve(Rank* rank, const Posted& p, bool in_order) {
  Inbox& inbox = inbox_of(p.comm->key, rank->world);
  std::deque<Message>* queue = queue_of(&inbox, p);
  if (!queue || queue->empty()) return false;
  Message m = std::move(queue->front());
  queue->pop_front();
  if (queue->empty()) inbox.messages.erase({m.source, m.tag});
  if (p.probe)
    rank->matched.insert_or_assign(p.message, std::move(m));
  else if (!p.freed && in_order)
    compare(rank, m, p.call, p.type, p.count);
  return true;
}

/// Beyond so many receives under way, messages are counted but not compared: it would take too long.
constexpr size_t kMostPosted = 2000;

void sweep(Rank* rank) {
  const bool in_order = rank->posted.size() <= kMostPosted;
  size_t i = 0;
  // From the front: mostly the one that is complete is the first.
  while (i < rank->posted.size() && (in_order || i < kMostPosted)) {
    const Posted& p = *rank->posted[i];
    bool waits = p.open;
    for (size_t k = 0; k < i && !waits && in_order; ++k)
      waits = rank->posted[k]->open && rank->posted[k]->comm == p.comm &&
              could_take(*rank->posted[k], p.real_source, p.real_tag);
    if (waits) {
      ++i;
      continue;
    }
    if (!p.cancelled && !resolve(rank, p, in_order) && p.freed) {
      ++i;  // it will take one that comes later
      continue;
    }
    rank->posted.erase(rank->posted.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void take(const WireMessage& w) {
  if (w.call.id >= kCallCount) return;
  Message m;
  m.id = w.id;
  m.source = w.source;
  m.tag = w.tag;
  m.source_world = w.source_world;
  m.signature = {w.hash, w.length, w.known, w.packed};
  m.bytes = w.bytes;
  m.call = w.call;
  m.standard = w.standard;
  inbox_of(w.comm, w.receiver).messages[{m.source, m.tag}].push_back(std::move(m));
}

void take(const WireBack& w) {
  for (auto& [key, queue] : inbox_of(w.comm, w.receiver).messages)
    std::erase_if(queue, [&](const Message& m) { return m.id == w.id; });
}

}  // namespace

void look_at_messages(Call* call) {
  const CallInfo& info = call->info();
  if (info.starts == Starts::kPersistent) return;
  const bool sends = info.role == Role::kSend, receives = info.role == Role::kReceive;
  const bool both = info.role == Role::kSendReceive || info.role == Role::kReplace;
  if (sends || both)
    send_message(call->rank(), call->record(), &call->message, &call->send_to, &call->comm);
  if (receives || both || info.role == Role::kMatchedProbe)
    call->posted = post(call->rank(), call->record());
  if (info.role == Role::kMatchedReceive) {
    const auto* handle = static_cast<const int*>(call->pointer("message"));
    auto found = handle ? call->rank()->matched.find(*handle) : call->rank()->matched.end();
    if (found == call->rank()->matched.end()) return;
    compare(call->rank(), found->second, call->record(),
            static_cast<MPI_Datatype>(call->value("datatype")), call->value("count"));
    call->rank()->matched.erase(found);
  }
}

void start_message(Call* call, Operation* op) {
  const Role role = op->call.info().role;
  if (role == Role::kSend)
    send_message(call->rank(), op->call, &op->message, &op->send_to, &op->comm);
  if (role == Role::kReceive) op->posted = post(call->rank(), op->call);
}

void note_messages(Call* call) {
  if (!call->posted || call->info().starts != Starts::kBlocking) return;
  if (call->find("flag") >= 0 && !*static_cast<const int*>(call->pointer("flag"))) {
    call->posted->cancelled = true;
    call->posted->open = false;
    return sweep(call->rank());
  }
  if (call->posted->probe)
    call->posted->message = *static_cast<const int*>(call->pointer("message"));
  received(call->rank(), call->posted, call->told());
}

void received(Rank* rank, const std::shared_ptr<Posted>& posted, const MPI_Status* status) {
  posted->open = false;
  posted->cancelled = !status || status->MPI_SOURCE == MPI_PROC_NULL;
  if (status) {
    posted->real_source = status->MPI_SOURCE;
    posted->real_tag = status->MPI_TAG;
  }
  sweep(rank);
}

void receive_forgotten(Rank* rank, const std::shared_ptr<Posted>& posted) {
  posted->open = false;
  posted->freed = true;
  posted->real_source = posted->source;
  posted->real_tag = posted->tag;
  sweep(rank);
}

void take_back(const Comm* comm, int send_to, uint64_t message) {
  if (!comm || send_to < 0) return;
  const WireBack wire = {WireKind::kBack, send_to, comm->key, message};
  if (is_local(send_to)) return take(wire);
  MPIX_Tool_notify(MPIX_Tool_process(send_to), &wire, sizeof wire);
}

void undo_messages(Call* call, int result) {
  int error_class = MPI_SUCCESS;
  g_next.MPI_Error_class(result, &error_class);
  const bool too_long = error_class == MPI_ERR_TRUNCATE;
  if (!too_long) take_back(call->comm, call->send_to, call->message);
  if (!call->posted) return;
  const auto posted = call->posted;
  received(call->rank(), posted, too_long ? call->told() : nullptr);
}

void on_message(const void* data, int bytes) {
  WireMessage message;
  WireBack back;
  if (bytes == sizeof message) {
    std::memcpy(&message, data, sizeof message);
    take(message);
  } else if (bytes == sizeof back) {
    std::memcpy(&back, data, sizeof back);
    take(back);
  }
}

void report_messages_left() {
  for (const auto& rank : g_process.all)
    if (rank) sweep(rank.get());
  for (const auto& [key, inbox] : g_process.inboxes)
    for (const auto& [from, queue] : inbox.messages)
      for (const Message& m : queue)
        report(
            Kind::kMessages, "a message is never received",
            "each message that is sent is received, or its send cancelled",
            {{m.source_world, m.call.info().name, arguments_of(m.call, nullptr), m.call.site, ""}});
}

}  // namespace fgmpi::check
