// Sends, in tiers: each completes what it can, and leaves every other message to the next one.
//
//   tier        completes                                             functions
//   direct      at most kTiny bytes in a row to a collocated rank     send_bytes_direct(), in line
//               whose eldest posted receive matches                   (pt2pt_inl.h)
//     |
//     | another process, no receive or not the eldest, more bytes, a layout, another mode
//     v
//   at once     what needs no operation: a posted receive that        send_bytes_at_once()
//               matches; an eager copy; one frame whose payload is    send_buffer_at_once()
//               copied, or packed in place                            send_scattered_at_once()
//                                                                     send_short_at_once(), in line
//     |
//     | no receive, and the copy or window would pass its limit (flow_control.h); synchronous, and
//     | not matched; longer than such a frame; no room in the transport; no address yet
//     v
//   operation   a SendOp, which may wait. For its address; within a   begin_send()
//               process: for its match, in the queue of unexpected    resolve_address()
//               messages; between processes: for room, for payloads   begin_local_send()
//               that it has lent, for an answer                       begin_remote_send()
//
// send() and isend() begin with "at once"; their operation is on the stack, or in a request.
// Bindings try "direct" before all checks of arguments (src/mpi/pt2pt/pt2pt_calls.h). Below all
// tiers are the frames of the Engine: try_frame() and try_lent_frame() send one if there is room,
// defer_frame() makes it wait for room, and send_own_frame() is for frames that belong to no send.

#include <algorithm>

#include "datatype/copy.h"
#include "proclet-sched/coroutine/packing.h"
#include "pt2pt/message_decider.h"
#include "pt2pt/requests.h"
#include "pt2pt/sites.h"

namespace fgmpi::pt2pt {

using transport::Header;

namespace {

Header message_header(FrameKind kind, Peer to, const Envelope& envelope, uint64_t size) {
  Header h;
  h.ctx = envelope.ctx;
  h.src_rank = envelope.source;
  h.tag = envelope.tag;
  h.dst_local = to.local;
  h.src_process = g_engine.me();
  h.size = size;
  h.cookie = 0;
  h.addr = 0;
  h.kind = kind;
  return h;
}

/// Makes an eager copy for a collocated destination that has posted no matching receive; nullptr
/// where the limits do not allow one, or without memory. The payload is not filled yet.
UnexpectedMessage* eager_copy(const Envelope& envelope, uint64_t n) {
  Engine& e = g_engine;
  if (!e.flow.allows_local_copy(n)) return nullptr;
  UnexpectedMessage* u = new_unexpected(envelope, n, true);
  if (__builtin_expect(!u, 0)) return nullptr;  // the message waits in the sender's buffer
  u->kind = UnexpectedMessage::kEager;
  u->process = e.me();
  return u;
}

void count_eager_copy(const UnexpectedMessage* u) {
  Engine& e = g_engine;
  e.counters.count_message(Counters::kLocal, u->size);
  e.flow.add_local_copy(u->size);
  e.count_unexpected(u->size);
}

void push_eager_copy(Endpoint* at, UnexpectedMessage* u) {
  count_eager_copy(u);
  push_unexpected(at, u);
}

/// A message of at most this many bytes uses no more of the receiver's memory than the kRequest
/// frame that would announce it. Past the window it is sent whole and answered when matched, so
/// that its receive needs no round trip.
constexpr uint64_t kRequestRoom = BlockPool::size_of(0) - sizeof(UnexpectedMessage);

bool may_go_eagerly(uint32_t process, uint64_t n) {
  const Engine& e = g_engine;
  return n <= e.flow.longest_eager(g_av.transport_bit(process)) && e.window_allows(process, n);
}
bool may_go_at_once(uint32_t process, uint64_t n) {
  const Engine& e = g_engine;
  return e.flow.fits_copied_frame(g_av.transport_bit(process), n) && e.window_allows(process, n);
}

/// The tier "at once" to a destination whose process has yet to be found. Out of line, so that the
/// other ways keep the destination in registers.
[[gnu::noinline]] bool send_unresolved_at_once(const void* data, uint64_t n, Peer to,
                                               const Envelope& envelope, SendMode mode) {
  return find_peer(&to, envelope) && send_bytes_at_once(data, n, to, envelope, mode);
}
[[gnu::noinline]] bool send_unresolved_at_once(const Buffer& buffer, Peer to,
                                               const Envelope& envelope, SendMode mode) {
  return find_peer(&to, envelope) && send_buffer_at_once(buffer, to, envelope, mode);
}

/// The tier "at once" for a buffer that is not contiguous, to another process.
bool send_scattered_across(const Buffer& buffer, Peer to, const Envelope& envelope, SendMode mode) {
  Engine& e = g_engine;
  const auto n = static_cast<uint64_t>(buffer.bytes());
  if (mode == SendMode::kSynchronous) return false;
  if (__builtin_expect(is_unresolved(to.process), 0))
    return send_unresolved_at_once(buffer, to, envelope, mode);
  if (!may_go_at_once(to.process, n) || e.peers.has_deferred(to.process)) return false;
  const auto pack = [&](char* row) {
    datatype::pack(buffer.address, buffer.count, buffer.type, row);
  };
  const Header header = message_header(kEager, to, envelope, n);
  if (!e.try_filled_frame(to.process, header, n, pack)) return false;
  e.peers.add_in_flight(to.process, FlowControl::charge(n));
  e.count_message(to.process, n);
  return true;
}

/// The tier "at once" for a buffer that is not contiguous.
bool send_scattered_at_once(const Buffer& buffer, Peer to, const Envelope& envelope,
                            SendMode mode) {
  if (to.process != g_engine.me()) return send_scattered_across(buffer, to, envelope, mode);
  Endpoint* at = g_engine.at(to.local);
  if (RecvOp* op = match_posted(at, envelope)) {
    g_engine.counters.count_message(Counters::kLocal, static_cast<uint64_t>(buffer.bytes()));
    fill_from(op, envelope, buffer);
    complete_op(op);
    return true;
  }
  if (mode == SendMode::kSynchronous) return false;
  UnexpectedMessage* u = eager_copy(envelope, static_cast<uint64_t>(buffer.bytes()));
  if (!u) return false;
  try {
    datatype::pack(buffer.address, buffer.count, buffer.type, u->payload());
  } catch (const std::bad_alloc&) {
    drop_unexpected(u);
    throw;
  }
  push_eager_copy(at, u);
  return true;
}

/// Lets the receiver read the message from the sender's memory, where its bytes are a row; else the
/// receiver asks for data frames (Engine::push_stream).
[[gnu::always_inline]] inline void expose(SendOp* op, uint32_t process) {
  op->frame.header.addr = reinterpret_cast<uintptr_t>(op->data);
  if (!op->data) return;
  sched::keep_unpacked(op->data, op->size);
  if (transport::MemoryReader* reader = g_engine.transports.reader(process))
    reader->expose(process, g_av.address(process), op->size);
}

/// The tier "operation" between processes: eager where its window allows it, else by rendezvous.
[[gnu::always_inline]] inline void begin_remote_send(SendOp* op, Peer to, SendMode mode) {
  Engine& e = g_engine;
  const uint32_t process = to.process;
  const bool in_window = may_go_eagerly(process, op->size);
  const uint64_t longest_eager = e.flow.longest_eager(g_av.transport_bit(process));
  const bool eager = in_window || op->size <= std::min(kRequestRoom, longest_eager);
  const bool is_row = op->buffer->type.contiguous();
  op->data = is_row ? bytes_of(*op->buffer) : nullptr;
  e.count_message(process, op->size);
  const bool answered = !in_window || mode == SendMode::kSynchronous;
  const bool past_limit = !in_window && mode != SendMode::kSynchronous && op->size <= longest_eager;
  const FrameKind request = past_limit ? kRequestPastLimit : kRequest;
  const FrameKind answered_eager = past_limit ? kEagerPastLimit : kEagerSync;
  const FrameKind kind = !eager ? request : answered ? answered_eager : kEager;
  Header& h = op->frame.header;
  h = message_header(kind, to, op->envelope, op->size);
  if (answered) {
    op->cookie = e.expect_answer(op);
    h.cookie = op->cookie;
  }
  if (eager)
    e.peers.add_in_flight(process, FlowControl::charge(op->size));
  else
    expose(op, process);
  op->frame.payload = eager ? op->data : nullptr;
  op->frame.length = eager ? static_cast<uint32_t>(op->size) : 0;
  op->frame.role = answered ? DeferredFrame::kOfSend : DeferredFrame::kLastOfSend;
  op->frame.op = op;
  op->over = false;
  if (eager && op->size > 0 && (!is_row || op->size > e.transports.to(process)->max_payload()))
    op->frame.role = DeferredFrame::kPieces;
  if (e.peers.has_deferred(process)) return e.defer_frame(process, &op->frame);
  const bool sent = op->frame.role == DeferredFrame::kPieces
                        ? e.push_pieces(process, &op->frame)
                        : e.try_lent_frame(process, h, op->frame.payload, op->frame.length, op);
  if (!sent) return e.defer_frame(process, &op->frame);
  if (!answered) e.complete_send(op);
}

}  // namespace

bool send_bytes_at_once(const void* data, uint64_t n, Peer to, const Envelope& envelope,
                        SendMode mode) {
  Engine& e = g_engine;
  if (__builtin_expect(to.process == e.me(), 1)) {
    Endpoint* at = e.at(to.local);
    if (RecvOp* op = match_posted(at, envelope)) {
      e.counters.count_message(Counters::kLocal, n);
      fill(op, envelope, data, n);
      complete_op(op);
      return true;
    }
    if (mode == SendMode::kSynchronous) return false;
    UnexpectedMessage* u = eager_copy(envelope, n);
    if (!u) return false;
    if (n) copy_bytes(u->payload(), data, n);
    push_eager_copy(at, u);
    return true;
  }
  if (mode == SendMode::kSynchronous) return false;
  if (__builtin_expect(is_unresolved(to.process), 0))
    return send_unresolved_at_once(data, n, to, envelope, mode);
  if (!may_go_at_once(to.process, n)) return false;
  if (!e.try_frame(to.process, message_header(kEager, to, envelope, n), data, n)) return false;
  e.peers.add_in_flight(to.process, FlowControl::charge(n));
  e.count_message(to.process, n);
  return true;
}

bool send_short_unmatched(const ShortData& data, Peer to, const Envelope& envelope, SendMode mode) {
  if (to.process != g_engine.me()) {
    char row[datatype::kMostShortBytes];
    pack_short(*data.type, data.address, data.count, row);
    return send_bytes_at_once(row, data.bytes(), to, envelope, mode);
  }
  if (mode == SendMode::kSynchronous) return false;
  UnexpectedMessage* u = eager_copy(envelope, data.bytes());
  if (!u) return false;
  pack_short(*data.type, data.address, data.count, u->payload());
  push_eager_copy(g_engine.at(to.local), u);
  return true;
}

namespace {
bool decided_by_others(Peer to, const Envelope& envelope) {
  return g_message_decider && to.process == g_engine.me() &&
         g_message_decider->decides(envelope.ctx);
}

/// Does a send complete at once that the decider delivers? It also decides whether a standard one
/// does.
[[gnu::always_inline]] inline bool is_buffered_by_decider(uint64_t bytes, Peer to, SendMode mode) {
  return mode == SendMode::kBuffered ||
         (mode != SendMode::kSynchronous && g_engine.flow.is_eager_local(bytes) &&
          (bytes <= g_message_decider->always_buffered ||
           g_message_decider->buffers(to.local, bytes)));
}

/// Returns memory for the copy of a message that the decider delivers; nullptr: there is none.
[[gnu::always_inline]] inline UnexpectedMessage* copy_for_decider(uint64_t bytes,
                                                                  const Envelope& envelope) {
  UnexpectedMessage* u = new_unexpected(envelope, bytes, true);
  if (!u) return nullptr;
  u->kind = UnexpectedMessage::kEager;
  u->process = g_engine.me();
  return u;
}

void hand_over(UnexpectedMessage* u, Peer to) {
  count_eager_copy(u);
  g_message_decider->add_message(to.local, u);
}

[[gnu::noinline]] bool hand_over_at_once(const Buffer& buffer, Peer to, const Envelope& envelope,
                                         SendMode mode) {
  const auto bytes = static_cast<uint64_t>(buffer.bytes());
  if (!is_buffered_by_decider(bytes, to, mode)) return false;
  UnexpectedMessage* u = copy_for_decider(bytes, envelope);
  if (!u) return false;
  if (buffer.type.contiguous()) {
    if (u->size) copy_bytes(u->payload(), bytes_of(buffer), u->size);
  } else {
    datatype::pack(buffer.address, buffer.count, buffer.type, u->payload());
  }
  hand_over(u, to);
  return true;
}
}  // namespace

bool send_bytes_by_decider(const void* data, uint64_t bytes, Peer to, const Envelope& envelope,
                           SendMode mode) {
  if (!decided_by_others(to, envelope) || !is_buffered_by_decider(bytes, to, mode)) return false;
  if (g_message_decider->send_to_posted(to.local, envelope, data, bytes)) {
    g_engine.counters.count_message(Counters::kLocal, bytes);
    return true;
  }
  UnexpectedMessage* u = copy_for_decider(bytes, envelope);
  if (!u) return false;
  if (bytes) copy_bytes(u->payload(), data, bytes);
  hand_over(u, to);
  return true;
}

bool send_buffer_at_once(const Buffer& buffer, Peer to, const Envelope& envelope, SendMode mode) {
  if (__builtin_expect(decided_by_others(to, envelope), 0))
    return hand_over_at_once(buffer, to, envelope, mode);
  if (__builtin_expect(buffer.type.contiguous(), 1))
    return send_bytes_at_once(bytes_of(buffer), static_cast<uint64_t>(buffer.bytes()), to, envelope,
                              mode);
  return send_scattered_at_once(buffer, to, envelope, mode);
}

namespace {
/// The tier "operation" within a process: the message waits at its receiver.
[[gnu::always_inline]] inline void begin_local_send(SendOp* op, Peer to, SendMode mode) {
  op->kind = UnexpectedMessage::kLocal;
  op->answer = mode != SendMode::kSynchronous && g_engine.flow.is_eager_local(op->size)
                   ? AnswerTime::kPastLimit
                   : AnswerTime::kWhenMatched;
  g_engine.counters.count_message(Counters::kLocal, op->size);
  if (__builtin_expect(decided_by_others(to, op->envelope), 0))
    return g_message_decider->add_message(to.local, op);
  push_unexpected(g_engine.at(to.local), op);
}

/// In line, like the two above, in both of its callers: the second one is for ranks that move.
[[gnu::always_inline]] inline void begin_send_at(Peer to, SendOp* op, SendMode mode) {
  op->process = to.process;
  if (to.process != g_engine.me()) return begin_remote_send(op, to, mode);
  begin_local_send(op, to, mode);
}
}  // namespace

void begin_send_to(Peer to, SendOp* op, SendMode mode) { begin_send_at(to, op, mode); }

void begin_send(SendOp* op, SendMode mode) {
  op->size = static_cast<uint64_t>(op->buffer->bytes());
  if (__builtin_expect(is_unresolved(op->to.process), 0)) {
    if (op->to.process == kUnknownProcess && !resolve_address(op, mode)) return;
    if (op->to.process == kByWorld) return begin_send_by_world(op, mode);
  }
  begin_send_at(op->to, op, mode);
}

// ---- Blocking -----------------------------------------------------------------------------------

namespace {
/// The tier "operation" of a blocking send. May switch.
[[gnu::noinline]] Status send_by_operation(const Buffer& buffer, Peer to, const Envelope& envelope,
                                           SendMode mode, const char* call) {
  SendOp op;
  op.buffer = &buffer;
  op.to = to;
  op.envelope = envelope;
  op.queued = false;
  begin_send(&op, mode);
  if (!op.done) g_engine.spin(&op.done);
  if (!op.done) {
    SendSite site(call, &op);
    op.proclet = sched::current();
    sched::park(&site);
  }
  return std::move(op.error);
}
}  // namespace

Status send(const Buffer& buffer, Peer to, int32_t source_rank, int32_t tag, uint64_t ctx,
            SendMode mode, const char* call) {
  Envelope envelope{ctx, source_rank, tag};
  if (__builtin_expect(send_buffer_at_once(buffer, to, envelope, mode), 1)) return {};
  return send_by_operation(buffer, to, envelope, mode, call);
}

// ---- Requests -----------------------------------------------------------------------------------

namespace {
Pool<SendRequest> g_send_requests;

/// The request of every send that completed at once: complete, and never freed.
class SentRequest final : public Request {
 public:
  SentRequest() {
    immortal = true;
    complete_ = true;
    call = "MPI_Isend";
    handle = kSentHandle;
    outcome.source = MPI_ANY_SOURCE;
    outcome.tag = MPI_ANY_TAG;
  }
};
}  // namespace

Request* const g_sent = new SentRequest;
Request* sent_request() { return g_sent; }

void* SendRequest::operator new(size_t) { return g_send_requests.take(); }
void SendRequest::operator delete(void* p) { g_send_requests.give(p); }
bool SendRequest::trim() { return g_send_requests.trim(); }

SendRequest::SendRequest(const Buffer& b, Peer to, const Envelope& e, SendMode m, const char* name,
                         RefCount* k)
    : buffer(b), mode(m) {
  call = name;
  comm_ref = k;
  if (comm_ref) comm_ref->retain();
  op.buffer = &buffer;
  op.to = to;
  op.envelope = e;
  op.queued = false;
  op.owner = this;
  op.finish = sent;
}

void SendRequest::sent(SendOp* done) {
  auto* r = static_cast<SendRequest*>(done->owner);
  r->outcome.cancelled = done->cancelled;
  if (!done->error.ok()) r->outcome.error = std::move(done->error);
  r->set_complete();
}

SendRequest::~SendRequest() {
  if (comm_ref) comm_ref->release();
}

Status SendRequest::start() {
  complete_ = false;
  active = true;
  op.done = op.cancelled = false;
  op.kind = UnexpectedMessage::kEager;  // begin_send() makes it kLocal
  outcome.cancelled = false;
  outcome.error = Status();
  if (send_buffer_at_once(buffer, op.to, op.envelope, mode)) {
    set_complete();
  } else {
    begin_send(&op, mode);
  }
  return {};
}

Request::ToolEvent SendRequest::tool_event() const {
  const bool known = op.to.process != kUnknownProcess;
  const auto world = known ? static_cast<int32_t>(g_av.global_of(op.to.process, op.to.local)) : -1;
  return {ToolEvent::kSend, world, op.envelope.tag, buffer.bytes()};
}

void SendRequest::cancel() {
  if (complete_ || !active) return;
  if (is_unresolved(op.to.process)) {
    if (op.to.process == kByWorld) return cancel_send_by_world(&op);
    if (!stop_waiting_for_address(&op)) return;
    op.cancelled = true;
    return complete_op(&op);
  }
  if (op.to.process == g_engine.me()) {
    const bool held = decided_by_others(op.to, op.envelope);
    if (held ? !g_message_decider->withdraw_send(op.to.local, &op) : !op.queued) return;
    if (!held) remove_unexpected(g_engine.at(op.to.local), &op);
    op.cancelled = true;
    return complete_op(&op);
  }
  // Between processes: ask the receiver to drop the message. The request follows the
  // message's frames.
  if (op.frame.header.cookie == 0 ||
      (op.frame.role != DeferredFrame::kOfSend && op.frame.role != DeferredFrame::kPieces))
    return;
  Header h = op.frame.header;
  h.kind = kCancel;
  h.size = 0;
  g_engine.send_own_frame(op.to.process, h, nullptr, 0);
}

Status isend(const Buffer& buffer, Peer to, int32_t source_rank, int32_t tag, uint64_t ctx,
             SendMode mode, const char* call, RefCount* comm_ref, Request** out) {
  Envelope envelope{ctx, source_rank, tag};
  if (__builtin_expect(send_buffer_at_once(buffer, to, envelope, mode), 1)) {
    *out = sent_request();
    return {};
  }
  std::unique_ptr<SendRequest> request(new SendRequest(buffer, to, envelope, mode, call, comm_ref));
  begin_send(&request->op, mode);
  *out = request.release();
  return {};
}

Status send_init(const Buffer& buffer, Peer to, int32_t source_rank, int32_t tag, uint64_t ctx,
                 SendMode mode, const char* call, RefCount* comm_ref, Request** out) {
  auto* request = new SendRequest(buffer, to, {ctx, source_rank, tag}, mode, call, comm_ref);
  request->persistent = true;
  request->active = false;
  *out = request;
  return {};
}

}  // namespace fgmpi::pt2pt
