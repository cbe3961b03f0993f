// The engine's side of forwarding.h: messages of endpoints become items, and items messages.
// See moved_endpoints.h.

#include "pt2pt/moved_endpoints.h"

#include <memory>

#include "datatype/copy.h"
#include "proclet-sched/coroutine/packing.h"
#include "pt2pt/lost.h"
#include "pt2pt/message_decider.h"
#include "pt2pt/moved_frames.h"
#include "pt2pt/requests.h"

namespace fgmpi::pt2pt {

using transport::Header;

namespace {

/// The process that returns the credit of a message of kind kForwarded, or kNoRank.
uint32_t account_of(const UnexpectedMessage* u) { return static_cast<uint32_t>(u->addr); }
void set_account(UnexpectedMessage* u, uint32_t process) { u->addr = process; }

/// Bytes of messages that this process has sent as items and that are not consumed yet.
uint64_t g_items_in_flight = 0;

/// A message of which the payload is the process's own, or nullptr where there is no memory.
UnexpectedMessage* new_message(UnexpectedMessage::UnexpectedKind kind, const Envelope& envelope,
                               uint64_t size, AnswerTime answer, uint64_t cookie) {
  UnexpectedMessage* u = new_unexpected(envelope, size, kind == UnexpectedMessage::kForwarded);
  if (!u) return nullptr;
  u->kind = kind;
  u->answer = answer;
  u->process = g_engine.me();
  u->cookie = cookie;
  u->addr = 0;
  return u;
}

/// The rank that sends now, or kNoRank: a thread, or a send that something else than a rank begins.
uint32_t sending_rank() {
  const sched::Proclet* p = sched::current();
  if (!p || p->kind != sched::ProcletKind::kRank) return kNoRank;
  return g_av.global_of_local(p->index);
}

/// Makes a send one that waits for a pull: its message is with it until data frames are asked for.
UnexpectedMessage* make_request(SendOp* op) {
  Engine& e = g_engine;
  UnexpectedMessage* u =
      new_message(UnexpectedMessage::kRendezvous, op->envelope, op->size, op->answer, 0);
  if (!u) out_of_memory("a message to a rank that moves", sizeof *u);
  op->cookie = u->cookie = e.expect_answer(op);
  op->data = op->buffer->type.contiguous() ? bytes_of(*op->buffer) : nullptr;
  op->over = false;
  op->frame.header = e.header_for(kRequest, op->cookie);
  op->frame.role = DeferredFrame::kOfSend;
  op->frame.op = op;
  if (op->data) sched::keep_unpacked(op->data, op->size);
  return u;
}

/// The first of these entries, or of those behind it, whose plane moves with a rank. All other
/// planes (collectives, partitioned messages) stay at the endpoint of the rank's home.
template <class Entry>
Entry* first_that_moves(Entry* entry) {
  while (entry && !is_of_moving_plane(entry->envelope.ctx)) entry = entry->next;
  return entry;
}

/// What keeps the endpoint here, or nullptr.
const char* obstacle(const Endpoint* at) {
  if (first_that_moves(at->posted.front())) return "it has posted a receive";
  if (at->probers) return "it waits for a message";
  for (Arrived* a = first_that_moves(at->unexpected.front()); a; a = first_that_moves(a->next))
    switch (static_cast<UnexpectedMessage*>(a)->kind) {
      case UnexpectedMessage::kArriving:
      case UnexpectedMessage::kPulling:
      case UnexpectedMessage::kHeldBack:
        return "a message to it is being received";
      default:
        break;
    }
  return nullptr;
}

/// Makes a message that leaves an endpoint an item's.
UnexpectedMessage* detach(UnexpectedMessage* u) {
  Engine& e = g_engine;
  const bool local = u->process == e.me();
  switch (u->kind) {
    case UnexpectedMessage::kLocal:
      return make_request(static_cast<SendOp*>(u));
    case UnexpectedMessage::kEager:
      if (local) e.flow.remove_local_copy(u->size);
      set_account(u, local ? kNoRank : e.me());
      break;
    case UnexpectedMessage::kPulled:
      set_account(u, kNoRank);
      u->answer = AnswerTime::kNone;
      break;
    default:
      break;
  }
  if (u->kind == UnexpectedMessage::kRendezvous) return u;
  e.uncount_unexpected(u->size);
  if (u->answer == AnswerTime::kNone) u->cookie = 0;  // an eager copy has none set
  u->kind = UnexpectedMessage::kForwarded;
  return u;
}

/// Completes a send of this process whose message is withdrawn, or tells its process.
void report_cancelled(uint32_t process, uint64_t cookie) {
  Engine& e = g_engine;
  if (process != e.me())
    return e.send_own_frame(process, e.header_for(kCancelled, cookie), nullptr, 0);
  SendOp* op = e.take_expected(cookie);
  if (!op) return;
  op->cancelled = true;
  e.complete_send(op);
}

void return_credit(uint32_t process, uint32_t account, uint64_t bytes) {
  Engine& e = g_engine;
  if (account == kNoRank) return;
  if (account == process && process == e.me())
    g_items_in_flight -= FlowControl::charge(bytes);
  else if (account == e.me())
    e.return_credit(process, bytes);
  else
    send_credit_note(account, process, bytes);
}

class EndpointSite final : public ForwardingSite {
 public:
  uint32_t home_of(uint32_t world) const override { return g_av.process_of(world); }
  uint32_t index_at_home(uint32_t world) const override { return world - g_av.my_first(); }
  void send_item(uint32_t process, ItemLeg leg, const ForwardedItem& item,
                 uint32_t sender) override {
    const UnexpectedMessage* u = item.message;
    const uint32_t account =
        u && u->kind == UnexpectedMessage::kForwarded ? account_of(u) : kNoRank;
    send_moving_frames(process, leg, item, sender, account);
    if (item.message) drop_unexpected(item.message);
  }
  void send_note(uint32_t process, MoveNote note, uint32_t world, uint32_t argument) override {
    send_move_note(process, note, world, argument);
  }
  void deliver(uint32_t local, const ForwardedItem& item) override {
    Endpoint* at = g_engine.at(local);
    if (item.kind == ForwardedItem::kCancel) return withdraw(at, item);
    UnexpectedMessage* u = item.message;
    if (u->kind == UnexpectedMessage::kForwarded) {
      g_engine.count_unexpected(u->size);
    } else if (u->process == g_engine.me()) {
      u = wait_again(local, u);
      if (!u) return;
    }
    if (RecvOp* op = match_posted(at, u->envelope)) return consume(u, op);
    push_unexpected(at, u);
  }
  bool take_unexpected(uint32_t local, uint32_t world, ForwardedItem* out) override {
    Endpoint* at = g_engine.at(local);
    auto* u = static_cast<UnexpectedMessage*>(first_that_moves(at->unexpected.front()));
    if (!u) return false;
    remove_unexpected(at, u);
    *out = {};
    out->message = detach(u);
    out->envelope = out->message->envelope;
    out->world = world;
    out->process = out->message->process;
    return true;
  }

 private:
  /// A send of this process whose message is back in it waits as a collocated one.
  static UnexpectedMessage* wait_again(uint32_t local, UnexpectedMessage* u) {
    SendOp* op = g_engine.take_expected(u->cookie);
    const AnswerTime answer = u->answer;
    drop_unexpected(u);
    if (!op) return nullptr;
    if (op->cancelling) {  // the message would leave under another number
      op->cancelled = true;
      g_engine.complete_send(op);
      return nullptr;
    }
    op->kind = UnexpectedMessage::kLocal;
    op->answer = answer;  // a send to another process has none set
    op->process = g_engine.me();
    op->addr = local;
    return op;
  }
  /// Removes the message of a send that is cancelled; it may have been matched.
  static void withdraw(Endpoint* at, const ForwardedItem& cancel) {
    for (Arrived* a = at->unexpected.front(); a; a = a->next) {
      auto* u = static_cast<UnexpectedMessage*>(a);
      const bool answers = u->kind == UnexpectedMessage::kLocal ||
                           u->kind == UnexpectedMessage::kRendezvous ||
                           u->answer != AnswerTime::kNone;
      if (!answers || u->process != cancel.process || u->cookie != cancel.cookie) continue;
      remove_unexpected(at, u);
      if (u->kind == UnexpectedMessage::kLocal) {
        auto* op = static_cast<SendOp*>(u);
        op->cancelled = true;
        return complete_op(op);
      }
      if (u->kind != UnexpectedMessage::kRendezvous) {
        g_engine.uncount_unexpected(u->size);
        if (u->kind == UnexpectedMessage::kForwarded)
          return_credit(u->process, account_of(u), u->size);
        else
          g_engine.return_credit(u->process, u->size);
      }
      drop_unexpected(u);
      return report_cancelled(cancel.process, cancel.cookie);
    }
  }
};

/// Both are never destroyed: programs use MPI until they end.
EndpointSite* g_site = nullptr;
Forwarding* g_forwarding = nullptr;

}  // namespace

Forwarding& forwarding() { return *g_forwarding; }

void return_item_credit(uint64_t bytes) {
  g_items_in_flight -= std::min(g_items_in_flight, FlowControl::charge(bytes));
}

uint64_t item_bytes_in_flight() { return g_items_in_flight; }

void begin_forwarding() {
  g_av.let_ranks_move();
  if (!g_site) g_site = new EndpointSite;
  delete g_forwarding;
  g_forwarding = new Forwarding(g_site, g_av.me(), &g_av.moved());
  g_items_in_flight = 0;
}

void end_forwarding() {
  delete g_forwarding;
  g_forwarding = nullptr;
}

// ---- Moves --------------------------------------------------------------------------------------

Status may_depart(uint32_t world, uint32_t local) {
  if (!g_forwarding || world >= g_av.world_size())
    return error(MPI_ERR_ARG, "world rank is %u, which does not move", world);
  if (!g_engine.endpoints.has(local) || g_av.global_of_local(local) != world)
    return error(MPI_ERR_ARG, "local index is %u, which is not that of world rank %u here", local,
                 world);
  if (g_message_decider)
    return error(MPI_ERR_PENDING, "world rank %u stays: a tool decides what it receives", world);
  if (!lost_processes().empty())
    return error(MPI_ERR_PENDING, "world rank %u stays: a process of the job has failed", world);
  if (const char* why = obstacle(g_engine.at(local)))
    return error(MPI_ERR_PENDING, "world rank %u stays: %s", world, why);
  if (!g_forwarding->may_depart(world))
    return error(MPI_ERR_PENDING, "world rank %u stays: its messages are on their way here", world);
  return {};
}

bool messages_follow(const sched::Proclet* rank) {
  // A deputy of a rank that is away calls from its home, where no messages follow.
  if (!g_forwarding || rank->kind != sched::ProcletKind::kRank) return false;
  const uint32_t world = g_av.global_of_local(rank->index);
  return world < g_av.world_size() && !g_forwarding->may_depart(world);
}

Status depart(uint32_t world, uint32_t local, uint32_t process) {
  if (process >= g_av.processes() || process == g_engine.me())
    return error(MPI_ERR_ARG, "process is %u; allowed is another one below %u", process,
                 g_av.processes());
  FGMPI_TRY(may_depart(world, local));
  g_forwarding->depart(world, process);
  return {};
}

Status arrive(uint32_t world, uint32_t local) {
  if (!g_forwarding || world >= g_av.world_size())
    return error(MPI_ERR_ARG, "world rank is %u, which does not move", world);
  const bool home = g_av.process_of(world) == g_engine.me();
  const bool free = local >= g_av.my_count() && local != kProcessEndpoint &&
                    g_engine.endpoints.has(local) && g_av.moved().visitor_at(local) == kNoRank &&
                    g_av.moved().index_of_visitor(world) == kNoRank;
  if (home ? local != world - g_av.my_first() : !free)
    return error(MPI_ERR_ARG, "local index is %u, which world rank %u cannot have", local, world);
  g_forwarding->arrive(world, local);
  return {};
}

void describe_moved(std::string* out) {
  if (g_forwarding) g_forwarding->describe(out);
}

// ---- Sends --------------------------------------------------------------------------------------

bool find_peer(Peer* to, const Envelope& envelope) {
  if (to->process != kByWorld) return false;
  uint32_t local = 0;
  switch (forwarding().choose_way(envelope, to->local, sending_rank(), &local)) {
    case SendWay::kToHome:
      *to = g_av.locate(to->local);
      return true;
    case SendWay::kHere:
      *to = {g_engine.me(), local};
      return true;
    case SendWay::kForwarded:
      return false;
  }
  return false;
}

namespace {

/// Sends an operation's message as an item.
void send_as_item(SendOp* op, uint32_t world, SendMode mode) {
  Engine& e = g_engine;
  const uint64_t n = op->size;
  const bool in_window = e.flow.window_allows(g_items_in_flight, n);
  const bool eager = in_window && e.flow.is_eager_local(n);
  const bool synchronous = mode == SendMode::kSynchronous;
  op->answer = synchronous || in_window ? AnswerTime::kWhenMatched : AnswerTime::kPastLimit;
  op->process = g_av.process_of(world);
  e.count_message(op->process, n);
  UnexpectedMessage* u = nullptr;
  if (eager)
    u = new_message(UnexpectedMessage::kForwarded, op->envelope, n,
                    synchronous ? AnswerTime::kWhenMatched : AnswerTime::kNone, 0);
  if (u) {
    const Buffer& b = *op->buffer;
    if (b.type.contiguous()) {
      if (n) copy_bytes(u->payload(), bytes_of(b), n);
    } else {
      datatype::pack(b.address, b.count, b.type, u->payload());
    }
    set_account(u, e.me());
    g_items_in_flight += FlowControl::charge(n);
    if (synchronous) {
      op->cookie = u->cookie = e.expect_answer(op);
      op->over = false;
      op->frame.header = e.header_for(kEagerSync, op->cookie);
    }
  } else {
    u = make_request(op);
  }
  const bool complete = u->kind == UnexpectedMessage::kForwarded && !synchronous;
  ForwardedItem item;
  item.envelope = op->envelope;
  item.world = world;
  item.process = e.me();
  item.message = u;
  forwarding().send(item, sending_rank());
  if (complete) complete_op(op);
}

}  // namespace

void begin_send_by_world(SendOp* op, SendMode mode) {
  op->cookie = 0;
  op->cancelling = false;
  Peer to = op->to;
  if (!find_peer(&to, op->envelope)) return send_as_item(op, to.local, mode);
  if (send_buffer_at_once(*op->buffer, to, op->envelope, mode)) return complete_op(op);
  op->addr = to.local;
  begin_send_to(to, op, mode);
}

void cancel_send_by_world(SendOp* op) {
  if (op->queued) {
    remove_unexpected(g_engine.at(static_cast<uint32_t>(op->addr)), op);
    op->cancelled = true;
    return complete_op(op);
  }
  if (op->cookie == 0) return;
  op->cancelling = true;
  ForwardedItem item;
  item.kind = ForwardedItem::kCancel;
  item.envelope = op->envelope;
  item.world = op->to.local;
  item.process = g_engine.me();
  item.cookie = op->cookie;
  forwarding().send(item, sending_rank());
}

void answer_send(uint32_t process, uint64_t cookie) {
  Engine& e = g_engine;
  if (process != e.me()) return e.send_ack(process, cookie);
  if (SendOp* op = e.take_expected(cookie)) e.complete_send(op);
}

void consume_forwarded(UnexpectedMessage* u, RecvOp* op) {
  fill(op, u->envelope, u->payload(), u->size);
  g_engine.uncount_unexpected(u->size);
  if (u->answer != AnswerTime::kNone) answer_send(u->process, u->cookie);
  return_credit(u->process, account_of(u), u->size);
  drop_unexpected(u);
  complete_op(op);
}

// ---- Frames to the home of a rank that has left -------------------------------------------------

namespace {

/// A message of several frames to a rank that has left.
struct DivertedMessage {
  RecvOp op;  ///< receives the message into the memory behind `item.message`
  Outcome outcome;
  ForwardedItem item;

  static void complete(RecvOp* op) {
    const std::unique_ptr<DivertedMessage> self(static_cast<DivertedMessage*>(op->owner));
    forwarding().receive_plain(self->item);
  }
};

void divert(const Header& h, uint32_t world, const void* payload, size_t length) {
  Engine& e = g_engine;
  const bool eager = !is_request(h.kind), whole = h.size == length;
  const Envelope envelope{h.ctx, h.src_rank, h.tag};
  UnexpectedMessage* u =
      new_message(eager ? UnexpectedMessage::kForwarded : UnexpectedMessage::kRendezvous, envelope,
                  h.size, answer_of(h.kind), h.cookie);
  if (!u) out_of_memory("a message to a rank that has moved", h.size);
  u->process = h.src_process;
  ForwardedItem item;
  item.envelope = envelope;
  item.world = world;
  item.process = h.src_process;
  item.message = u;
  if (!eager) return forwarding().receive_plain(item);
  if (whole) {
    if (length) copy_bytes(u->payload(), payload, length);
    set_account(u, e.me());
    return forwarding().receive_plain(item);
  }
  set_account(u, kNoRank);  // the engine returns the credit when the last frame has come
  auto* message = new DivertedMessage;
  message->item = item;
  RecvOp& op = message->op;
  op.outcome = &message->outcome;
  op.data = u->payload();
  op.capacity = u->size;
  op.buffer = nullptr;
  op.finish = DivertedMessage::complete;
  op.owner = message;
  Header unanswered = h;
  unanswered.kind = kEager;
  if (e.begin_pieces(unanswered, &op, payload, length)) return;
  e.count_bad_frame();
  delete message;
  drop_unexpected(u);
}

}  // namespace

bool divert_frame(const Header& h, const void* payload, size_t length) {
  switch (h.kind) {
    case kEager:
    case kEagerSync:
    case kRequest:
    case kEagerPastLimit:
    case kRequestPastLimit:
      break;
    default:
      return false;
  }
  if (h.src_process >= g_engine.processes() || h.dst_local >= g_av.my_count() ||
      !is_of_moving_plane(h.ctx))
    return false;
  const uint32_t world = g_av.my_first() + h.dst_local;
  if (!forwarding().diverts(world)) return false;
  g_engine.count_received();
  divert(h, world, payload, length);
  return true;
}

}  // namespace fgmpi::pt2pt
