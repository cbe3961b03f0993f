// The engine of pt2pt: the one object of a process that moves messages and frames.
//
// Lending. Where the transport can send from the user's memory (FrameCarrier::try_lend), longer
// payloads are not copied. A SendOp is then complete only when, in addition, the transport has
// returned all payloads that the SendOp lent.
//
// Order. Frames to a process go through one FIFO (deferred frames first), so nothing overtakes.
// Thread rule: one thread. Nothing here switches unless its comment says so.
#pragma once

#include <cstring>
#include <iterator>
#include <string>

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

class Engine final : public transport::FrameSink {
 public:
  // transport::FrameSink
  void deliver(const transport::Header& header, const void* payload, size_t length) override;
  void returned(void* lender) override;
  void peer_failed(uint32_t process, const std::string& why) override;
  // The functions of transport::MemorySink (process.cc)
  void read_done(uint64_t cookie, Status status);
  void accessed(uint64_t cookie, Status status);

  Endpoint* at(uint32_t local) const { return endpoints.at(local); }
  uint32_t me() const { return me_; }
  /// How many processes there are, with those of connected jobs.
  uint32_t processes() const { return processes_; }
  /// Begins anew, without messages, as process `me`.
  void begin(uint32_t me, uint32_t processes);
  void set_processes(uint32_t processes) { processes_ = processes; }
  /// See pt2pt::quiet(), which also asks for sends that wait for an address.
  bool is_quiet() const {
    return !peers.any_deferred() && pulls.empty() && lent_ == 0 && accesses_ == 0 &&
           transports.polled_only_is_quiet();
  }

  bool poll_transports() {
    ++counters.polls;
    return transports.poll();
  }
  bool progress();
  /// Polls in place for a short while, until *done, where no other proclet could run.
  /// Never switches.
  void spin(const bool* done) {
    if (processes_ > 1 && !*done) spin_between(done);
  }

  // ---- Sending frames ---------------------------------------------------------------------------
  /// Sends a frame if none is deferred before it and the transport has room.
  bool try_frame(uint32_t process, const transport::Header& header, const void* payload,
                 size_t length) {
    if (__builtin_expect(peers.has_deferred(process), 0)) return false;
    return try_transport(process, header, payload, length);
  }
  /// Like try_frame(), whatever is deferred.
  bool try_transport(uint32_t process, const transport::Header& header, const void* payload,
                     size_t length) {
    transport::FrameCarrier* t = transports.to(process);
    if (!t->try_send(process, g_av.address(process), header, payload, length)) return false;
    return count_sent(length);
  }
  /// Like try_transport(), for a payload that fill(room) writes where the transport will send it
  /// from. False, also, where the transport cannot give such room.
  template <class Fill>
  bool try_filled_frame(uint32_t process, const transport::Header& header, size_t length,
                        Fill fill) {
    transport::FrameCarrier* t = transports.to(process);
    const uint64_t peer = g_av.address(process);
    char* room = t->try_reserve(process, peer, length);
    if (!room) return false;
    fill(room);
    t->send_reserved(process, peer, header, length);
    return count_sent(length);
  }
  /// Like try_transport(), for a payload that may be lent: it belongs to `op`, which waits until
  /// the transport has returned it.
  bool try_lent_frame(uint32_t process, const transport::Header& header, const void* payload,
                      size_t length, SendOp* op);
  bool count_sent(size_t length) {
    ++frames_sent_;
    ++counters.sent_frames;
    counters.sent_bytes_frames += length;
    return true;
  }
  void count_message(uint32_t process, uint64_t bytes) {
    counters.count_message(Counters::kByTransport + g_av.transport_bit(process), bytes);
  }
  /// Makes a frame wait behind those that wait for room already.
  void defer_frame(uint32_t process, DeferredFrame* frame);
  /// Drops a frame for a process that is lost, or that belongs to no connected job any more. Ends
  /// the frame's send, with an error if the process is lost.
  void drop_frame(uint32_t process, DeferredFrame* frame);
  /// Sends or defers one of the engine's own frames, with a copy of the payload.
  void send_own_frame(uint32_t process, const transport::Header& header, const void* payload,
                      size_t length);
  transport::Header header_for(FrameKind kind, uint64_t cookie) const {
    transport::Header h{};
    h.kind = kind;
    h.cookie = cookie;
    h.src_process = me_;
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

  /// Enters a send that expects an answer; returns the cookie that the answer will have.
  uint64_t expect_answer(SendOp* op) { return sends_.put(op); }
  uint32_t expected_answers() const { return sends_.used(); }
  /// Removes a send from those that expect an answer; nullptr: the cookie is stale.
  SendOp* take_expected(uint64_t cookie) { return sends_.take(cookie); }
  /// Ends, with the error of status(), the sends for which is_meant(op) is true, of those that
  /// expect an answer.
  template <class F, class G>
  void fail_sends(F&& is_meant, G&& status) {
    for (uint64_t cookie : sends_.find_all(is_meant)) {
      SendOp* op = sends_.take(cookie);
      if (!op) continue;
      op->error = status();
      complete_send(op);
    }
  }
  /// Payloads that transports have not returned yet.
  uint32_t payloads_lent() const { return lent_; }

  /// Accesses memory that the process has granted to this one. The handler that was set is called
  /// at the end. `memory`: that of the process's transport.
  void begin_access(transport::GrantedMemory* memory, uint32_t process,
                    const transport::Access& what) {
    ++accesses_;
    memory->access(g_av.address(process), what);
  }

  // ---- Receiving --------------------------------------------------------------------------------
  void send_ack(uint32_t process, uint64_t cookie) {
    send_own_frame(process, header_for(kAck, cookie), nullptr, 0);
  }
  /// Completes a send: at once, or when the transport has returned the payloads that it lent.
  void complete_send(SendOp* op);
  bool push_pieces(uint32_t process, DeferredFrame* frame);
  void return_credit(uint32_t process, uint64_t bytes) {
    const uint64_t to_return = peers.add_to_return(process, FlowControl::charge(bytes));
    if (__builtin_expect(flow.is_credit_due(to_return), 0)) send_credit(process);
  }
  /// Begins to receive an eager message of several frames into `op`. False, with nothing done: no
  /// message can begin so.
  bool begin_pieces(const transport::Header& h, RecvOp* op, const void* payload, size_t length) {
    if (!may_arrive(h, length)) return false;
    begin_arriving(h, op, nullptr);
    receive_piece(h.src_process, payload, length);
    return true;
  }
  /// Drops the record of peers.arriving(process). REQUIRES: there is one.
  void remove_arriving(uint32_t process);

  // ---- Counts of frames -------------------------------------------------------------------------
  uint64_t frames_sent() const { return frames_sent_; }
  uint64_t frames_received() const { return frames_received_; }
  void count_received() { ++frames_received_; }
  /// See pt2pt::discount_frames().
  void discount_frames(uint64_t sent, uint64_t received) {
    frames_sent_ -= sent;
    frames_received_ -= received;
  }
  /// Impossible frames and notices, which were dropped.
  uint64_t bad_frames() const { return bad_frames_; }
  void count_bad_frame() { ++bad_frames_; }

  // ---- Handlers ---------------------------------------------------------------------------------
  NoticeHandler notice_handler(uint32_t kind) const {
    return kind < std::size(notice_handlers_) ? notice_handlers_[kind] : nullptr;
  }
  void set_notice_handler(uint32_t kind, NoticeHandler handler) {
    notice_handlers_[kind] = handler;
  }
  /// The handler of accesses that are complete.
  void set_access_handler(void (*handler)(uint64_t cookie, Status status)) {
    on_accessed_ = handler;
  }
  void set_peer_failed_handler(void (*handler)(uint32_t process, const std::string& why)) {
    on_peer_failed_ = handler;
  }
  /// The handler of messages for the process endpoint that were queued because no receive matches
  /// them yet.
  void set_unmatched_handler(void (*handler)(const UnexpectedMessage* message)) {
    on_unmatched_ = handler;
  }

  // What the fast paths read comes first, in one cache line.
 private:
  uint32_t me_ = 0, processes_ = 0;

 public:
  Endpoints endpoints;
  Peers peers;
  Transports transports;
  FlowControl flow;
  alignas(64) Counters counters = {};
  Pulls pulls;
  BlockPool blocks;

 private:
  bool poll_or_end();
  void spin_between(const bool* done);
  void send_credit(uint32_t process);
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
  bool try_packed_frame(uint32_t process, const transport::Header& header, const SendOp* op,
                        uint64_t offset, uint64_t n);
  uint64_t longest_piece(uint32_t process, const SendOp* op) const;

  /// The bytes that try_packed_frame() has packed last and not sent yet.
  struct PackedPiece {
    const SendOp* op = nullptr;
    uint64_t offset = 0, length = 0;
    bool operator==(const PackedPiece&) const = default;
  };

  uint64_t frames_sent_ = 0, frames_received_ = 0;  ///< for the detection of termination
  uint64_t bad_frames_ = 0;
  uint32_t lent_ = 0;      ///< payloads that transports have not returned yet
  uint32_t accesses_ = 0;  ///< accesses to other processes' memory under way
  PackedPiece packed_piece_;
  Cookies<SendOp> sends_;  ///< those that expect an answer
  Pool<Arriving> arriving_pool_;
  NoticeHandler notice_handlers_[16] = {};
  void (*on_accessed_)(uint64_t cookie, Status status) = nullptr;
  void (*on_peer_failed_)(uint32_t process, const std::string& why) = nullptr;
  void (*on_unmatched_)(const UnexpectedMessage* message) = nullptr;
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
/// Lays out `n` bytes of a message, from byte number `offset` on, in a receive buffer that is no
/// row. REQUIRES: the buffer has room for them.
void unpack_piece(RecvOp* op, uint64_t offset, const void* bytes, uint64_t n);
/// Records the error of a message of `n` bytes that ends within a basic element.
void check_end(RecvOp* op, uint64_t n);
/// Fills the receive buffer from a collocated sender's buffer.
void fill_from(RecvOp* op, const Envelope& from, const Buffer& source);

/// Elements of a type that has ShortRows, of at most kMostShortBytes bytes together.
struct ShortData {
  const datatype::DerivedType* type;
  const void* address;
  int64_t count;
  uint64_t bytes() const { return static_cast<uint64_t>(count * type->size()); }
};
/// As fill_from().
void fill_from_short(RecvOp* op, const Envelope& from, const ShortData& source);

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
/// Fills a receive from an eager copy of this process, which is in no queue, and drops the copy.
/// Does not complete the receive.
void fill_from_copy(UnexpectedMessage* u, RecvOp* op);
/// Makes an eager copy of bytes that are under way within this process; nullptr: no memory.
UnexpectedMessage* copy_under_way(const Envelope& envelope, const void* bytes, uint64_t size);
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

/// Begins a receive: matches a waiting message, or posts the receive. op->done is set when it is
/// complete already. The function is not in line, since it would use registers of the shorter paths
/// beside it (pt2pt_inl.h).
[[gnu::noinline]] inline void begin_recv(RecvOp* op, Endpoint* at, const Envelope& pattern) {
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

// ---- Sends: the tiers are drawn in send.cc ------------------------------------------------------

/// The tier "at once" for contiguous bytes: completes the send by a posted receive, an eager copy
/// or a frame. False: nothing was done.
bool send_bytes_at_once(const void* data, uint64_t bytes, Peer to, const Envelope& envelope,
                        SendMode mode);
/// The tier "at once" for short data with gaps which no posted receive matches. In line for those
/// which one matches: send_short_at_once() (pt2pt_inl.h).
bool send_short_unmatched(const ShortData& data, Peer to, const Envelope& envelope, SendMode mode);
/// The tier "at once" for any buffer.
bool send_buffer_at_once(const Buffer& buffer, Peer to, const Envelope& envelope, SendMode mode);
/// The tier "at once" for contiguous bytes whose message the decider delivers (message_decider.h).
/// Returns false, with nothing done, where it does not, or where the message is not buffered.
bool send_bytes_by_decider(const void* data, uint64_t bytes, Peer to, const Envelope& envelope,
                           SendMode mode);
/// The tier "operation": begins a send that could not complete at once. May complete it. REQUIRES:
/// op->buffer, ->to and ->envelope are set.
void begin_send(SendOp* op, SendMode mode);
/// As begin_send(), to a process that has been found. REQUIRES: op->size is set.
void begin_send_to(Peer to, SendOp* op, SendMode mode);

/// Finds the address of a destination of which only the rank is known: sets op->to and returns true
/// where the address is known by now. Otherwise the send waits, and start_waiting_sends() starts
/// it. REQUIRES: op->to.process == kUnknownProcess.
bool resolve_address(SendOp* op, SendMode mode);
/// Removes a send from those that wait for an address. False: it did not wait.
bool stop_waiting_for_address(SendOp* op);

// Destinations that are named by their world rank, in jobs whose ranks move (moved_endpoints.cc).
/// Sets *to to where the next message of the envelope is to be sent. False, with nothing changed:
/// the message must be forwarded as an item, or the address is not known.
bool find_peer(Peer* to, const Envelope& envelope);
void begin_send_by_world(SendOp* op, SendMode mode);
void cancel_send_by_world(SendOp* op);
/// Completes a receive with a message of kind kForwarded.
void consume_forwarded(UnexpectedMessage* u, RecvOp* op);
/// Acknowledges a message, also to a send of this process.
void answer_send(uint32_t process, uint64_t cookie);

inline Message* as_message(UnexpectedMessage* u) { return reinterpret_cast<Message*>(u); }
inline UnexpectedMessage* as_unexpected(Message* m) {
  return reinterpret_cast<UnexpectedMessage*>(m);
}

}  // namespace fgmpi::pt2pt
