// Frames between processes: how they are sent, deferred, delivered and credited.
// See engine.h.

#include <unistd.h>

#include <algorithm>

#include "base/assert.h"
#include "base/clock.h"
#include "base/copy.h"
#include "base/error_line.h"
#include "base/relax_cpu.h"
#include "base/strings.h"
#include "datatype/copy.h"
#include "proclet-sched/threads/threads.h"
#include "pt2pt/engine.h"
#include "pt2pt/lost.h"
#include "pt2pt/short_spin.h"

namespace fgmpi::pt2pt {

using transport::Header;

Engine g_engine;

namespace {

/// Bytes of data frames that are sent before the next waiting frame has its turn.
constexpr uint64_t kStreamTurn = 1 << 20;
/// Bytes of a message that are packed at a time.
constexpr uint64_t kPackedPiece = 64 << 10;

Envelope envelope_of(const Header& h) { return {h.ctx, h.src_rank, h.tag}; }

}  // namespace

void Engine::begin(uint32_t me, uint32_t processes) {
  me_ = me;
  processes_ = processes;
  counters = {};
  frames_sent_ = frames_received_ = bad_frames_ = 0;
  lent_ = 0;
}

// ---- Deferred frames ----------------------------------------------------------------------------

void Engine::defer_frame(uint32_t process, DeferredFrame* frame) {
  if (peers.is_lost(process)) return drop_frame(process, frame);
  peers.add_deferred(process, frame);
}

void Engine::drop_frame(uint32_t process, DeferredFrame* frame) {
  SendOp* op = frame->op;
  if (frame->role == DeferredFrame::kOwn) return free(frame);
  // A later operation may have the same address.
  if (packed_piece_.op == op) packed_piece_ = {};
  const bool answered = frame->header.kind == kData || frame->header.cookie != 0;
  if (answered && !sends_.take(op->cookie)) return;
  if (is_lost(process)) op->error = process_failed(process);
  complete_send(op);
}

void Engine::send_own_frame(uint32_t process, const Header& header, const void* payload,
                            size_t length) {
  if (__builtin_expect(try_frame(process, header, payload, length), 1)) return;
  DeferredFrame* frame = static_cast<DeferredFrame*>(malloc(sizeof(DeferredFrame) + length));
  if (!frame) out_of_memory("a frame", sizeof(DeferredFrame) + length);
  new (frame) DeferredFrame{
      nullptr, header, frame + 1, static_cast<uint32_t>(length), DeferredFrame::kOwn, nullptr};
  if (length) memcpy(frame + 1, payload, length);
  defer_frame(process, frame);
}

/// Sends a frame with bytes of a message that is no row. They are packed where the transport sends
/// them from, or, where it copies payloads, in memory that keeps them while there is no room for
/// the frame.
bool Engine::try_packed_frame(uint32_t process, const Header& header, const SendOp* op,
                              uint64_t offset, uint64_t n) {
  static char* memory = new char[kPackedPiece];
  const auto pack = [&](char* to) {
    const Buffer& b = *op->buffer;
    datatype::pack_part(b.address, b.type, static_cast<int64_t>(offset), static_cast<int64_t>(n),
                        to);
  };
  const PackedPiece piece{op, offset, n};
  if (!(packed_piece_ == piece)) {
    if (try_filled_frame(process, header, n, pack)) return true;
    pack(memory);
    packed_piece_ = piece;
  }
  if (!try_transport(process, header, memory, n)) return false;
  packed_piece_ = {};
  return true;
}

/// The most bytes of a message in one frame. Those of a packed one are copied by the transport,
/// which may be slow where it would rather be lent them.
uint64_t Engine::longest_piece(uint32_t process, const SendOp* op) const {
  constexpr uint64_t kLeast = 1024;
  const uint64_t most = transports.to(process)->max_payload();
  if (op->data) return most;
  const uint64_t copied = flow.longest_not_lent(g_av.transport_bit(process));
  return std::min({most, kPackedPiece, std::max(copied, kLeast)});
}

/// Sends data frames of a message; true when all bytes are sent.
bool Engine::push_stream(uint32_t process, DeferredFrame* frame) {
  const SendOp* op = frame->op;
  const uint64_t most = longest_piece(process, op);
  for (uint64_t turn = 0; frame->header.addr < frame->header.size;) {
    if (turn >= kStreamTurn && peers.has_more_deferred(process)) return false;
    uint64_t offset = frame->header.addr;
    uint64_t n = std::min(most, frame->header.size - offset);
    const bool sent = op->data
                          ? try_lent_frame(process, frame->header, op->data + offset, n, frame->op)
                          : try_packed_frame(process, frame->header, op, offset, n);
    if (!sent) return false;
    frame->header.addr = offset + n;
    turn += n;
  }
  return true;
}

/// Sends an eager message of several frames; true when all bytes are sent.
bool Engine::push_pieces(uint32_t process, DeferredFrame* frame) {
  SendOp* op = frame->op;
  const uint64_t most = longest_piece(process, op);
  for (uint64_t out = frame->header.addr; out < op->size; frame->header.addr = out) {
    Header h = frame->header;
    if (out) h.kind = kMore;
    const uint64_t n = std::min(most, op->size - out);
    const bool sent = op->data ? try_lent_frame(process, h, op->data + out, n, op)
                               : try_packed_frame(process, h, op, out, n);
    if (!sent) return false;
    out += n;
  }
  return true;
}

bool Engine::try_lent_frame(uint32_t process, const Header& header, const void* payload,
                            size_t length, SendOp* op) {
  const int bit = g_av.transport_bit(process);
  if (!flow.is_worth_lending(bit, length)) return try_transport(process, header, payload, length);
  switch (transports.with_bit(bit)->try_lend(process, g_av.address(process), header, payload,
                                             length, op)) {
    case transport::LendResult::kNoRoom:
      return false;
    case transport::LendResult::kLent:
      ++op->lent;
      ++lent_;
      break;
    case transport::LendResult::kSent:
      break;
  }
  return count_sent(length);
}

void Engine::returned(void* lender) {
  auto* op = static_cast<SendOp*>(lender);
  --lent_;
  if (--op->lent == 0 && op->over) complete_op(op);
}

void Engine::complete_send(SendOp* op) {
  if (op->lent)
    op->over = true;
  else
    complete_op(op);
}

bool Engine::push_frames(uint32_t process) {
  bool moved = false;
  while (DeferredFrame* frame = peers.first_deferred(process)) {
    if (frame->role == DeferredFrame::kStream) {
      uint64_t before = frame->header.addr;
      bool finished = push_stream(process, frame);
      moved |= frame->header.addr != before;
      if (!finished) {
        if (frame->header.addr == before || !frame->next) return moved;
        // The frame has sent kStreamTurn bytes and others wait: it goes to the end of the queue.
        // Data frames carry their offset, so frames of other messages may pass them.
        peers.move_first_deferred_to_end(process);
        continue;
      }
    } else if (frame->role == DeferredFrame::kPieces) {
      const uint64_t before = frame->header.addr;
      bool finished = push_pieces(process, frame);
      moved |= frame->header.addr != before;
      if (!finished) return moved;
    } else if (!(frame->op
                     ? try_lent_frame(process, frame->header, frame->payload, frame->length,
                                      frame->op)
                     : try_transport(process, frame->header, frame->payload, frame->length))) {
      return moved;
    }
    moved = true;
    peers.remove_first_deferred(process);
    SendOp* op = frame->op;
    switch (frame->role) {
      case DeferredFrame::kOwn:
        blocks.count_freed(sizeof(DeferredFrame) + frame->length);
        free(frame);
        break;
      case DeferredFrame::kOfSend:
        break;
      case DeferredFrame::kStream:
        sends_.take(op->cookie);
        [[fallthrough]];
      case DeferredFrame::kLastOfSend:
        complete_send(op);
        break;
      case DeferredFrame::kPieces:
        if (!frame->header.cookie) complete_send(op);
        break;
    }
  }
  return moved;
}

/// Polls, and ends the process where there is no memory. Arriving messages and the answers to them
/// belong to no call that could return the error. (What a call asks for is that call's error.)
bool Engine::poll_or_end() {
  try {
    return poll_transports();
  } catch (const std::bad_alloc&) {
    out_of_memory("messages that arrive", 0);
  }
}

bool Engine::progress() {
  bool moved = poll_or_end();
  peers.push_deferred([&](uint32_t process) { moved |= push_frames(process); });
  return moved;
}

int64_t g_longest_short_spin = kLongestShortSpin;

bool ShortSpin::is_over() {
  const int64_t now = now_ns();
  if (start_ == 0) start_ = now;
  return now - start_ > g_longest_short_spin;
}

void Engine::spin_between(const bool* done) {
  for (ShortSpin spin; spin.may_continue();) {
    bool moved = peers.any_deferred() ? progress() : poll_or_end();
    if (*done) return;
    if (!moved) relax_cpu();
  }
}

void Engine::send_credit(uint32_t process) {
  Header h = header_for(kCredit, 0);
  h.size = peers.take_to_return(process);
  send_own_frame(process, h, nullptr, 0);
}

// ---- Arrivals -----------------------------------------------------------------------------------

void Engine::deliver(const Header& h, const void* payload, size_t length) {
  FGMPI_ASSERT(sched::may_use_engine());
  if (__builtin_expect(h.src_process >= processes_ || !endpoints.has(h.dst_local), 0)) {
    ++bad_frames_;
    return;
  }
  ++frames_received_;
  if (h.kind == kNotice) {
    NoticeHandler handler = notice_handler(static_cast<uint32_t>(h.tag));
    if (handler) handler(h.src_process, h.ctx, payload, length);
    return;
  }
  switch (h.kind) {
    case kEager:
    case kEagerSync:
    case kRequest:
    case kEagerPastLimit:
    case kRequestPastLimit:
      return arrive(h, payload, length);
    case kAck:
      if (SendOp* op = sends_.take(h.cookie)) return complete_send(op);
      break;
    case kClear:
      return on_clear(h);
    case kData:
      return pulls.receive_data(h, payload, length);
    case kMore:
      return on_piece(h, payload, length);
    case kCredit:
      return peers.remove_in_flight(h.src_process, h.size);
    case kCancel:
      return on_cancel(h);
    case kCancelled:
      return on_cancelled(h);
    default:
      break;
  }
  ++bad_frames_;
}

void Engine::arrive(const Header& h, const void* payload, size_t length) {
  const bool eager = !is_request(h.kind);
  const bool whole = h.size == length;
  if (__builtin_expect(eager && !whole && !may_arrive(h, length), 0)) {
    ++bad_frames_;
    return;
  }
  Envelope from = envelope_of(h);
  Endpoint* endpoint = at(h.dst_local);
  if (RecvOp* op = match_posted(endpoint, from)) {
    if (!eager) return pulls.begin(op, from, h.src_process, h.cookie, h.addr, h.size);
    if (__builtin_expect(!whole, 0)) {
      begin_arriving(h, op, nullptr);
      return receive_piece(h.src_process, payload, length);
    }
    fill_across(op, from, payload, length);
    return_credit(h.src_process, length);
    if (answer_of(h.kind) != AnswerTime::kNone) send_ack(h.src_process, h.cookie);
    return complete_op(op);
  }
  UnexpectedMessage* u = new_unexpected(from, h.size, eager);
  if (__builtin_expect(!u, 0)) out_of_memory("a message that no receive waits for", h.size);
  u->kind = eager ? UnexpectedMessage::kEager : UnexpectedMessage::kRendezvous;
  u->answer = answer_of(h.kind);
  u->process = h.src_process;
  u->cookie = h.cookie;
  u->addr = h.addr;
  if (eager) {
    if (whole) {
      if (length) copy_across(u->payload(), payload, length);
    } else {
      begin_arriving(h, nullptr, u);
      receive_piece(h.src_process, payload, length);
    }
    count_unexpected(h.size);
  }
  push_unexpected(endpoint, u);
  if (h.dst_local == kProcessEndpoint && on_unmatched_) on_unmatched_(u);
}

// ---- Eager messages of several frames -----------------------------------------------------------

/// May a message begin with this frame, which has only its first `length` bytes?
bool Engine::may_arrive(const Header& h, size_t length) const {
  const uint64_t most = transports.to(h.src_process)->most_unasked();
  return length > 0 && length < h.size && h.size <= most && !peers.arriving(h.src_process);
}

/// Begins an eager message of several frames. They go into the buffer of `op`, or into `kept` until
/// a receive matches the message.
void Engine::begin_arriving(const Header& h, RecvOp* op, UnexpectedMessage* kept) {
  Arriving* a = arriving_pool_.make(Arriving{kept, op, kept ? kept->payload() : nullptr, h.size,
                                             h.size, 0, h.cookie, answer_of(h.kind)});
  peers.set_arriving(h.src_process, a);
  if (kept) {
    kept->kind = UnexpectedMessage::kArriving;
    kept->addr = reinterpret_cast<uintptr_t>(a);
    return;
  }
  a->fits = set_outcome(op, envelope_of(h), h.size);
  a->destination = op->data;
}

void Engine::on_piece(const Header& h, const void* payload, size_t length) {
  const Arriving* a = peers.arriving(h.src_process);
  if (!a || length == 0 || h.addr != a->arrived || length > a->size - a->arrived) {
    ++bad_frames_;
    return;
  }
  receive_piece(h.src_process, payload, length);
}

void Engine::receive_piece(uint32_t process, const void* payload, size_t length) {
  Arriving* a = peers.arriving(process);
  if (a->arrived < a->fits) {
    const uint64_t n = std::min<uint64_t>(length, a->fits - a->arrived);
    if (a->destination)
      copy_across(a->destination + a->arrived, payload, n);
    else
      unpack_piece(a->op, a->arrived, payload, n);
  }
  a->arrived += length;
  if (a->arrived < a->size) return;
  const Arriving done = *a;
  remove_arriving(process);
  if (done.kept) {
    done.kept->kind = UnexpectedMessage::kEager;
    if (done.op) consume(done.kept, done.op);
    return;
  }
  if (!done.destination) check_end(done.op, done.fits);
  return_credit(process, done.size);
  if (done.answer != AnswerTime::kNone) send_ack(process, done.cookie);
  complete_op(done.op);
}

void Engine::remove_arriving(uint32_t process) {
  arriving_pool_.drop(peers.arriving(process));
  peers.set_arriving(process, nullptr);
}

void Engine::peer_failed(uint32_t process, const std::string& why) {
  if (on_peer_failed_) return on_peer_failed_(process, why);
  const uint32_t first = g_av.first(process), count = g_av.count(process);
  std::string ranks = count == 1 ? format("world rank %u", first)
                                 : format("world ranks %u to %u", first, first + count - 1);
  write_error_line(
      format("process %u of the job, %s, is gone: %s", process, ranks.c_str(), why.c_str()));
  end_process(1);
}

// ---- Rendezvous, and accesses to memory of others ----------------------------------------------

void Engine::read_done(uint64_t cookie, Status status) {
  pulls.complete_read(cookie, std::move(status));
}

void Engine::accessed(uint64_t cookie, Status status) {
  --accesses_;
  on_accessed_(cookie, std::move(status));
}

/// The receiver cannot read this process's memory: send it the bytes.
void Engine::on_clear(const Header& h) {
  SendOp* op = sends_.get(h.cookie);
  if (!op || !is_request(op->frame.header.kind) || h.size > op->size) {
    ++bad_frames_;
    return;
  }
  op->frame.header = header_for(kData, h.ctx);
  op->frame.header.size = h.size;
  op->frame.role = DeferredFrame::kStream;
  op->frame.op = op;
  defer_frame(h.src_process, &op->frame);
}

// ---- Cancelling a send that waits in another process --------------------------------------------

void Engine::on_cancel(const Header& h) {
  Endpoint* endpoint = at(h.dst_local);
  for (Arrived* a = endpoint->unexpected.front(); a; a = a->next) {
    UnexpectedMessage* u = static_cast<UnexpectedMessage*>(a);
    bool answers = u->kind == UnexpectedMessage::kRendezvous ||
                   (u->kind == UnexpectedMessage::kEager && u->answer != AnswerTime::kNone);
    if (!answers || u->process != h.src_process || u->cookie != h.cookie) continue;
    remove_unexpected(endpoint, u);
    if (u->kind == UnexpectedMessage::kEager) {
      uncount_unexpected(u->size);
      return_credit(u->process, u->size);
    }
    drop_unexpected(u);
    return send_own_frame(h.src_process, header_for(kCancelled, h.cookie), nullptr, 0);
  }
  // Not found: the message has been matched, and the send completes like any other.
}

void Engine::on_cancelled(const Header& h) {
  if (SendOp* op = sends_.take(h.cookie)) {
    op->cancelled = true;
    complete_send(op);
  }
}

}  // namespace fgmpi::pt2pt
