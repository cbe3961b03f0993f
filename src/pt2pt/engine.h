// The engine of pt2pt: the one object of a process that moves messages and frames.
//
// Lending. Where the transport can send from the user's memory (Transport::try_lend), longer
// payloads are not copied. A SendOp is then complete only when, in addition, the transport has
// returned all payloads that the SendOp lent.
//
// Order. Frames to a process go through one FIFO (deferred frames first), so nothing overtakes.
// Thread rule: one thread. Nothing here switches unless its comment says so.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "pt2pt/cookies.h"
#include "pt2pt/endpoint.h"
#include "pt2pt/flow_control.h"
#include "pt2pt/match.h"
#include "pt2pt/operation.h"
#include "pt2pt/peers.h"
#include "pt2pt/pool.h"
#include "pt2pt/pt2pt.h"
#include "pt2pt/pulls.h"
#include "pt2pt/transports.h"

namespace fgmpi::pt2pt {

class Engine final : public transport::Sink {
 public:
  // transport::Sink
  void deliver(const transport::Header& header, const void* payload, size_t length) override;
  void read_done(uint64_t cookie, Status status) override;
  void accessed(uint64_t cookie, Status status) override;
  void returned(void* lender) override;
  void peer_failed(uint32_t process, const std::string& why) override;

  Endpoint* at(uint32_t local) const { return endpoints.at(local); }

  bool poll_transports() {
    ++counters.polls;
    return transports.poll();
  }
  bool progress();
  /// Polls in place for a short while, until *done, where no other proclet could run.
  /// Never switches.
  void spin(const bool* done) {
    if (processes > 1 && !*done) spin_between(done);
  }

  // ---- Sending frames ---------------------------------------------------------------------------
  /// Sends at once if no frame is deferred before it and the transport has room.
  bool send_now(uint32_t process, const transport::Header& header, const void* payload,
                size_t length) {
    if (__builtin_expect(peers.has_deferred(process), 0)) return false;
    return to_transport(process, header, payload, length);
  }
  bool to_transport(uint32_t process, const transport::Header& header, const void* payload,
                    size_t length) {
    transport::Transport* t = transports.to(process);
    if (!t->try_send(process, g_av.address(process), header, payload, length)) return false;
    return count_sent(length);
  }
  /// Like to_transport(), for a payload that may be lent: it belongs to `op`, which waits until the
  /// transport has returned it.
  bool lend_to_transport(uint32_t process, const transport::Header& header, const void* payload,
                         size_t length, SendOp* op);
  bool count_sent(size_t length) {
    ++frames_sent;
    ++counters.sent_frames;
    counters.sent_bytes_frames += length;
    return true;
  }
  void count_message(uint32_t process, uint64_t bytes) {
    counters.count_message(Counters::kByTransport + g_av.transport_bit(process), bytes);
  }
  void defer(uint32_t process, DeferredFrame* frame);
  /// Drops a frame for a process that is lost, or that belongs to no connected job any more. Ends
  /// the frame's send, with an error if the process is lost.
  void drop_frame(uint32_t process, DeferredFrame* frame);
  /// Sends or defers one of the engine's own frames, with a copy of the payload.
  void send_own(uint32_t process, const transport::Header& header, const void* payload,
                size_t length);
  transport::Header header_for(FrameKind kind, uint64_t cookie) const {
    transport::Header h{};
    h.kind = kind;
    h.cookie = cookie;
    h.src_process = me;
    h.dst_local = kProcessEndpoint;
    return h;
  }
  /// Counts a message of `bytes` that waits for its receive.
  void count_unexpected(uint64_t bytes) {
    counters.unexpected_bytes += FlowControl::charge(bytes);
    if (counters.unexpected_bytes > counters.unexpected_bytes_peak)
      counters.unexpected_bytes_peak = counters.unexpected_bytes;
  }
  /// Counts a message of `bytes` that does not wait any more.
  void uncount_unexpected(uint64_t bytes) {
    counters.unexpected_bytes -= FlowControl::charge(bytes);
  }
  /// Has the window of the process room for an eager message of `bytes`?
  bool window_allows(uint32_t process, uint64_t bytes) const {
    return flow.window_allows(peers.in_flight(process), bytes);
  }

  /// Accesses memory that the process has granted to this one; on_accessed() is called at the end.
  void begin_access(uint32_t process, const transport::Access& what) {
    ++accesses;
    transports.to(process)->access(g_av.address(process), what);
  }

  // ---- Receiving --------------------------------------------------------------------------------
  void ack(uint32_t process, uint64_t cookie) {
    send_own(process, header_for(kAck, cookie), nullptr, 0);
  }
  /// Completes a send: at once, or when the transport has returned the payloads that it lent.
  void finish_send(SendOp* op);
  bool push_pieces(uint32_t process, DeferredFrame* frame);
  void return_credit(uint32_t process, uint64_t bytes) {
    const uint64_t to_return = peers.add_to_return(process, FlowControl::charge(bytes));
    if (__builtin_expect(flow.is_credit_due(to_return), 0)) send_credit(process);
  }
  void send_credit(uint32_t process);

  Endpoints endpoints;
  Peers peers;
  bool connected_to_others = false;  ///< other jobs may send something
  uint64_t connection_changes = 0;   ///< how often connected_to_others has changed
  Transports transports;
  uint32_t me = 0, processes = 0;
  FlowControl flow;
  uint64_t frames_sent = 0, frames_received = 0;  ///< for termination detection
  uint64_t bad_frames = 0;
  bool detecting = false;  ///< this process runs the detection of deadlocks (termination.cc)
  uint32_t lent = 0;       ///< payloads that transports have not returned yet
  uint32_t accesses = 0;   ///< accesses to other processes' memory under way
  Cookies<SendOp> sends;
  Pulls pulls;
  Pool<Arriving> arriving_pool;
  BlockPool blocks;
  Counters counters = {};
  NoticeHandler notice_handlers[16] = {};
  /// Called when an access that begin_access() began is complete.
  void (*on_accessed)(uint64_t cookie, Status status) = nullptr;
  void (*on_peer_failed)(uint32_t process, const std::string& why) = nullptr;
  /// Called when a message for the process endpoint was queued because no receive matches it yet.
  void (*on_unmatched)(const UnexpectedMessage* message) = nullptr;

 private:
  bool poll_or_end();
  void spin_between(const bool* done);
  void arrive(const transport::Header& h, const void* payload, size_t length);
  void on_clear(const transport::Header& h);
  void begin_arriving(const transport::Header& h, RecvOp* op, UnexpectedMessage* kept);
  bool may_arrive(const transport::Header& h, size_t length) const;
  void on_piece(const transport::Header& h, const void* payload, size_t length);
  void receive_piece(uint32_t process, const void* payload, size_t length);
  void on_cancel(const transport::Header& h);
  void on_cancelled(const transport::Header& h);
  bool push_frames(uint32_t process);
  bool push_stream(uint32_t process, DeferredFrame* frame);
};

[[gnu::visibility("hidden")]] extern Engine g_engine;

// ---- Moving data --------------------------------------------------------------------------------

inline void copy_bytes(void* to, const void* from, uint64_t n) {
  char* t = static_cast<char*>(to);
  const char* f = static_cast<const char*>(from);
  if (__builtin_expect(n == 8, 1)) {
    memcpy(t, f, 8);
  } else {
    memcpy(t, f, n);
  }
}

inline const char* bytes_of(const Buffer& b) {
  return static_cast<const char*>(b.address) + b.type.true_lb();
}

/// Trimmers (proclet-sched/sched.h) of the memory of the queues, and of buffered sends.
bool trim_matching();
bool trim_buffered_sends();

/// Records the first error of a receive; later ones are dropped.
void record_first_error(RecvOp* op, Status status);
/// MPI_ERR_NO_MEM for the bytes of a message that must be held between two buffers.
Status no_memory_for_message(uint64_t bytes);

/// Sets source, tag and size of a message longer than the receive buffer; returns how many bytes
/// fit and records a truncation.
uint64_t truncated(RecvOp* op, uint64_t size);
inline uint64_t set_outcome(RecvOp* op, const Envelope& from, uint64_t size) {
  op->outcome->source = from.source;
  op->outcome->tag = from.tag;
  op->outcome->bytes = size;
  return __builtin_expect(size <= op->capacity, 1) ? size : truncated(op, size);
}
/// Fills the receive buffer from `size` contiguous bytes; sets the outcome. Does not complete.
void fill(RecvOp* op, const Envelope& from, const void* bytes, uint64_t size);
/// Like fill(), for bytes that another process has written.
void fill_across(RecvOp* op, const Envelope& from, const void* bytes, uint64_t size);
/// Unpacks `n` bytes, which fit, into a buffer that is not contiguous. REQUIRES: the
/// outcome is set.
void unpack_into(RecvOp* op, const void* bytes, uint64_t n);
/// Fills the receive buffer from a collocated sender's buffer.
void fill_from(RecvOp* op, const Envelope& from, const Buffer& source);

// ---- Unexpected messages ------------------------------------------------------------------------

/// Makes an eager entry with room for `size` bytes behind it, which is in no queue yet; nullptr
/// when there is no memory.
UnexpectedMessage* new_unexpected(const Envelope& envelope, uint64_t size, bool with_payload);
void drop_unexpected(UnexpectedMessage* u);
/// Puts the message into the queue and wakes proclets that probe for it.
void push_unexpected(Endpoint* at, UnexpectedMessage* u);
inline void remove_unexpected(Endpoint* at, UnexpectedMessage* u) {
  at->unexpected.remove(u);
  u->queued = false;
}
/// Gives a message that is in no queue any more to a receive. Completes the receive, at once or
/// when the message is pulled.
void consume(UnexpectedMessage* u, RecvOp* op);

/// Finds the posted receive that matches this message and removes it from its queue; nullptr when
/// there is none.
inline RecvOp* match_posted(Endpoint* at, const Envelope& message) {
  if (at->posted.empty()) return nullptr;
  RecvOp* op = static_cast<RecvOp*>(at->posted.take(message));
  if (op) op->queued = false;
  return op;
}

/// Starts a receive: matches a waiting message, or posts the receive. op->done is set when it is
/// complete already. The function is not in line, since it would use registers of the shorter paths
/// beside it (pt2pt_inl.h).
[[gnu::noinline]] inline void start_recv(RecvOp* op, Endpoint* at, const Envelope& pattern) {
  if (!at->unexpected.empty()) {
    if (Arrived* a = at->unexpected.find(pattern)) {
      UnexpectedMessage* u = static_cast<UnexpectedMessage*>(a);
      remove_unexpected(at, u);
      return consume(u, op);
    }
  }
  op->envelope = pattern;
  op->queued = true;
  at->posted.push(op);
}

// ---- Sends --------------------------------------------------------------------------------------

/// Tries to complete a send of contiguous bytes at once: a posted receive, an eager copy or a
/// frame.
bool send_bytes_at_once(const void* data, uint64_t bytes, Peer to, const Envelope& envelope,
                        Mode mode);
/// Tries to complete a send at once, without an operation, in the ways of send_bytes_at_once().
bool send_at_once(const Buffer& buffer, Peer to, const Envelope& envelope, Mode mode);
/// Starts a send that could not complete at once. May complete it. REQUIRES: op->buffer, ->to and
/// ->envelope are set.
void start_send(SendOp* op, Mode mode);

/// Finds the address of a destination of which only the rank is known: sets op->to and returns true
/// where the address is known by now. Otherwise the send waits, and start_waiting_sends() starts
/// it. REQUIRES: op->to.process == kUnknownProcess.
bool find_address(SendOp* op, Mode mode);
/// Removes a send from those that wait for an address. False: it did not wait.
bool stop_waiting_for_address(SendOp* op);

inline Message* as_message(UnexpectedMessage* u) { return reinterpret_cast<Message*>(u); }
inline UnexpectedMessage* as_unexpected(Message* m) {
  return reinterpret_cast<UnexpectedMessage*>(m);
}

}  // namespace fgmpi::pt2pt
