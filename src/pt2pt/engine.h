// Internals of pt2pt: operations, frames between processes, and the one Engine that moves them.
//
// Operations. A RecvOp is a posted receive, a SendOp a send that could not complete at once.
// Blocking calls keep theirs on the stack and park; requests embed theirs. Both end in complete(),
// which wakes or calls back.
//
// Unexpected messages at an endpoint:
//   kEager       payload behind the object (an eager copy)
//   kArriving    an eager copy some frames of which have not arrived yet
//   kLocal       the object is the SendOp of a collocated sender that waits; copied from its buffer
//   kRendezvous  a sender in another process waits for a pull
//   kPulling     a rendezvous that is being pulled before its match (buffer_limit.h)
//   kPulled      a rendezvous pulled before its match: payload behind the object; the sender has
//                been answered
//
// Frames (transport::Header::kind):
//   kEager, kEagerSync   a message; kEagerSync is answered by kAck when matched and whole
//   kMore                the rest of a message that is longer than a frame. Between its frames only
//                        frames of other kinds come, never another message
//   kRequest             "I have size bytes at addr": begins a rendezvous. The receiver pulls the
//                        bytes by Transport::read and answers by kAck
//   kClear, kData        where read is not supported: the receiver asks for the bytes by kClear
//                        (ctx: cookie of the pull), and the sender sends them in pieces (addr:
//                        offset; cookie: of the pull)
//   kAck                 the send with this cookie is complete
//   kCredit              size bytes of eager messages were consumed
//   kCancel, kCancelled  asks for the removal of an unmatched message / it has been removed
//   kNotice              tag: kind of notice
//   kEagerPastLimit, kRequestPastLimit   kEagerSync and kRequest of a standard send that the window
//                        keeps from being kEager: when all ranks wait, it is answered before its
//                        match (buffer_limit.h)
//
// Flow control. A process holds at most FGMPI_UNEXPECTED_LIMIT bytes of eager copies: half for
// collocated senders (all of it in a job of one process), half shared evenly as windows of the
// other processes. A sender counts the bytes that are under way or unconsumed at each peer, and
// uses rendezvous when its window is used up. The receiver returns credit when a quarter of a
// window has been consumed.
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

#include "pt2pt/match.h"
#include "pt2pt/pool.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::pt2pt {

enum FrameKind : uint8_t {
  kEager = 1,
  kEagerSync,
  kRequest,
  kAck,
  kClear,
  kData,
  kCredit,
  kCancel,
  kCancelled,
  kNotice,
  kMore,
  kEagerPastLimit,
  kRequestPastLimit,
};
inline bool is_request(uint64_t kind) { return kind == kRequest || kind == kRequestPastLimit; }
/// When the sender of a message gets an answer.
enum class AnswerTime : uint8_t {
  kNone,
  kWhenMatched,
  kPastLimit,  ///< when matched, or before that if all ranks wait
};
/// The answer that the sender of a message expects, by the kind of the frame that begins it.
inline AnswerTime answer_of(uint64_t kind) {
  if (kind == kEagerPastLimit || kind == kRequestPastLimit) return AnswerTime::kPastLimit;
  return kind == kEager ? AnswerTime::kNone : AnswerTime::kWhenMatched;
}

/// A posted receive.
struct RecvOp : PostedReceive {
  const Buffer* buffer;
  char* data;         ///< destination when it is contiguous, else nullptr
  uint64_t capacity;  ///< bytes
  /// capacity + 1 when `data` is set and the completing sender has only to do what complete_op()
  /// does; else 0.
  uint64_t direct = 0;
  Outcome* outcome;
  void (*finish)(RecvOp*) = nullptr;  ///< called when done; nullptr: `proclet` is made ready
  sched::Proclet* proclet = nullptr;
  void* owner;  ///< the object that finish() acts on
  bool done = false;
  bool queued = false;  ///< the operation is in a queue of posted receives

  void prepare(const Buffer& b, Outcome* o) {
    buffer = &b;
    outcome = o;
    capacity = static_cast<uint64_t>(b.bytes());
    data = b.type.contiguous() ? static_cast<char*>(b.address) + b.type.true_lb() : nullptr;
  }
};

struct UnexpectedMessage : Arrived {
  enum Kind : uint8_t { kEager, kArriving, kLocal, kRendezvous, kPulling, kPulled };
  uint64_t size;
  uint64_t cookie;  ///< the sender's cookie, where it expects an answer
  /// kRendezvous: the sender's buffer; kArriving: the Arriving; kPulling: the EarlyPull.
  uint64_t addr;
  uint32_t process;  ///< the process that sent it
  Kind kind;
  AnswerTime answer;  ///< the answer that the sender expects; kLocal: kWhenMatched or kPastLimit
  uint8_t size_class;
  bool queued;
  char* payload() { return reinterpret_cast<char*>(this + 1); }
};
static_assert(sizeof(UnexpectedMessage) == 72);

struct SendOp;

/// A frame that waits for room.
struct DeferredFrame {
  enum Role : uint8_t { kOwn, kOfSend, kLastOfSend, kStream, kPieces };
  DeferredFrame* next;
  transport::Header header;
  const void* payload;
  uint32_t length;
  /// Whose frame it is. kOwn: the engine's, freed when sent; kOfSend: part of `op`; kLastOfSend:
  /// completes `op` when sent; kStream: data frames; kPieces: all frames of an eager message of
  /// several (header.addr: bytes that have been sent).
  Role role;
  SendOp* op;
};

/// A send that waits: for its match (collocated), for room, or for an answer.
struct SendOp : UnexpectedMessage {
  const Buffer* buffer = nullptr;
  const char* data = nullptr;  ///< contiguous bytes (the user's or packed), or nullptr
  void* packed = nullptr;      ///< the packed data, owned by the operation
  Peer to = {};
  void (*finish)(SendOp*) = nullptr;
  sched::Proclet* proclet = nullptr;
  void* owner = nullptr;  ///< the object that finish() acts on
  bool done = false;
  bool cancelled = false;
  bool over = false;  ///< complete as soon as the transport has returned what the operation lent
  uint32_t lent = 0;  ///< payloads that the transport has not returned yet
  Status error;
  DeferredFrame frame;

  SendOp() = default;
  ~SendOp() { free(packed); }
};

/// A rendezvous whose data the receiver is pulling.
struct Pull {
  RecvOp* op;
  uint64_t sender_cookie;
  char* destination;
  char* staging;  ///< owned when the receive buffer is not contiguous
  uint64_t length, missing;
  uint32_t process;
  bool reading = false;  ///< Engine::read_done() will be called
};

/// An eager message of several frames, some of which have arrived. Its frames follow one another,
/// so there is at most one for each peer process.
struct Arriving {
  /// The queued message that holds the bytes while no receive has matched it, else nullptr.
  UnexpectedMessage* kept;
  RecvOp* op;         ///< the receive that has matched it, or nullptr
  char* destination;  ///< where its bytes are written
  char* staging;      ///< owned when the receive buffer is not contiguous
  uint64_t fits;      ///< how many of its bytes there is room for
  uint64_t size, arrived;
  uint64_t cookie;  ///< the sender's cookie, if it expects an answer
  AnswerTime answer;
};
static_assert(sizeof(Arriving) == 72);

/// Numbers by which frames name objects of this process: <generation, slot>. A stale or wrong
/// number finds nothing.
template <class T>
class Cookies {
 public:
  uint64_t put(T* object) {
    uint32_t slot;
    if (free_ != kNone) {
      slot = free_;
      free_ = slots_[slot].next;
    } else {
      slot = static_cast<uint32_t>(slots_.size());
      slots_.push_back({nullptr, 1, kNone});
    }
    slots_[slot].object = object;
    ++used_;
    return uint64_t{slots_[slot].generation} << 32 | slot;
  }
  T* get(uint64_t cookie) const {
    uint32_t slot = static_cast<uint32_t>(cookie);
    if (slot >= slots_.size() || slots_[slot].generation != cookie >> 32) return nullptr;
    return slots_[slot].object;
  }
  T* take(uint64_t cookie) {
    T* object = get(cookie);
    if (!object) return nullptr;
    CookieSlot& slot = slots_[static_cast<uint32_t>(cookie)];
    slot.object = nullptr;
    ++slot.generation;
    slot.next = free_;
    free_ = static_cast<uint32_t>(cookie);
    --used_;
    return object;
  }
  uint32_t used() const { return used_; }
  /// Calls f(cookie, object) for each object; f must not put or take.
  template <class F>
  void for_each(F&& f) const {
    for (uint32_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].object) f(uint64_t{slots_[i].generation} << 32 | i, slots_[i].object);
  }

 private:
  static constexpr uint32_t kNone = ~0u;
  struct CookieSlot {
    T* object;
    uint32_t generation;
    uint32_t next;
  };
  std::vector<CookieSlot> slots_;
  uint32_t free_ = kNone;
  uint32_t used_ = 0;
};

/// A proclet parked in MPI_Probe.
struct Prober {
  Prober* next;
  Envelope pattern;
  sched::Proclet* proclet;
  bool found;
  Status error = {};  ///< why nothing can be found any more (lost.h)
};

class alignas(64) Endpoint {
 public:
  PostedQueue posted;
  UnexpectedQueue unexpected;
  Prober* probers = nullptr;
};
static_assert(sizeof(Endpoint) <= 64, "memory budget: an idle endpoint");

/// What this process records about one peer process.
struct PeerState {
  uint64_t in_flight = 0;  ///< bytes charged for eager frames that the peer has not consumed
  uint64_t to_return = 0;  ///< bytes of its eager frames consumed here, credit not yet sent
  /// Frames that wait for room, a list; &Engine::lost_mark when the process is lost.
  DeferredFrame* head = nullptr;
  DeferredFrame* tail = nullptr;
  Arriving* arriving = nullptr;
};

class Engine final : public transport::Sink {
 public:
  // transport::Sink
  void deliver(const transport::Header& header, const void* payload, size_t length) override;
  void read_done(uint64_t cookie, Status status) override;
  void accessed(uint64_t cookie, Status status) override;
  void returned(void* lender) override;
  void peer_failed(uint32_t process, const std::string& why) override;

  Endpoint* at(uint32_t local) { return &endpoints[local + 1u]; }  // kProcessEndpoint + 1 is 0
  /// How many bytes of a window an eager message of `bytes` uses up at its receiver.
  static uint64_t charge(uint64_t bytes) { return bytes + 128; }

  bool poll_transports() {
    ++counters.polls;
    bool moved = transports[0] && transports[0]->poll();
    if (__builtin_expect(polls_more, 0)) moved |= poll_others();
    return moved;
  }
  bool poll_others() {
    bool moved = transports[1] && transports[1]->poll();
    if (polled_only) moved |= polled_only->poll();
    return moved;
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
    PeerState& peer = peers[process];
    if (__builtin_expect(peer.head != nullptr, 0)) return false;
    return to_transport(process, header, payload, length);
  }
  bool to_transport(uint32_t process, const transport::Header& header, const void* payload,
                    size_t length) {
    transport::Transport* t = transports[g_av.transport_bit(process)];
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
    counters.unexpected_bytes += charge(bytes);
    if (counters.unexpected_bytes > counters.unexpected_bytes_peak)
      counters.unexpected_bytes_peak = counters.unexpected_bytes;
  }
  bool window_allows(uint32_t process, uint64_t bytes) const {
    return peers[process].in_flight + charge(bytes) <= window;
  }

  /// Accesses memory that the process has granted to this one; on_accessed() is called at the end.
  void begin_access(uint32_t process, const transport::Access& what) {
    ++accesses;
    transports[g_av.transport_bit(process)]->access(g_av.address(process), what);
  }

  // ---- Receiving --------------------------------------------------------------------------------
  void start_pull(RecvOp* op, const Envelope& from, uint32_t process, uint64_t cookie,
                  uint64_t addr, uint64_t size);
  void finish_pull(uint64_t pull_cookie);
  void fail_pull(uint64_t pull_cookie, Status status);
  void ack(uint32_t process, uint64_t cookie) {
    send_own(process, header_for(kAck, cookie), nullptr, 0);
  }
  /// Completes a send: at once, or when the transport has returned the payloads that it lent.
  void finish_send(SendOp* op);
  bool push_pieces(uint32_t process, DeferredFrame* frame);
  void return_credit(uint32_t process, uint64_t bytes) {
    PeerState& peer = peers[process];
    peer.to_return += charge(bytes);
    if (__builtin_expect(peer.to_return * 4 >= window, 0)) send_credit(process);
  }
  void send_credit(uint32_t process);

  Endpoint* endpoints = nullptr;       ///< [0]: the process's own; [local + 1]: the proclets'
  uint32_t endpoint_room = 0;          ///< how many endpoints are reserved; they never move
  std::unique_ptr<PeerState[]> peers;  ///< by process; those of other jobs follow the own job's
  uint32_t peer_room = 0;
  bool connected_to_others = false;     ///< other jobs may send something
  uint64_t connection_changes = 0;      ///< how often connected_to_others has changed
  std::vector<uint32_t> waiting_peers;  ///< peers with deferred frames
  transport::Transport* transports[2] = {nullptr, nullptr};
  bool first_shares_memory = false;             ///< transports[0] is the one through shared memory
  transport::Transport* polled_only = nullptr;  ///< see add_polled_transport()
  bool polls_more = false;  ///< another transport than transports[0] must be polled
  uint32_t local_count = 0;
  uint32_t me = 0, processes = 0;
  uint64_t eager_local = 0;  ///< FGMPI_EAGER_LOCAL
  /// Longest eager message, by transport bit: FGMPI_EAGER_REMOTE, at most what the
  /// transport allows.
  uint64_t eager_remote[2] = {};
  /// Longest message that is sent at once, by transport bit: fits a frame and is not to be lent.
  uint64_t copied_remote[2] = {};
  uint64_t least_lent[2] = {};
  uint64_t local_limit = 0;  ///< bytes of eager copies that collocated senders may make
  uint64_t window = 0;       ///< bytes of eager messages in flight or unconsumed, per peer process
  /// The factor by which FGMPI_UNEXPECTED_LIMIT has been multiplied (buffer_limit.h).
  uint64_t limit_factor = 1;
  uint64_t local_unexpected = 0;
  uint64_t frames_sent = 0, frames_received = 0;  ///< for termination detection
  uint64_t bad_frames = 0;
  bool detecting = false;  ///< this process runs the detection of deadlocks (termination.cc)
  uint32_t pulls_pending = 0;
  uint32_t lent = 0;      ///< payloads that transports have not returned yet
  uint32_t accesses = 0;  ///< accesses to other processes' memory under way
  Cookies<SendOp> sends;
  Cookies<Pull> pulls;
  Pool<Pull> pull_pool;
  Pool<Arriving> arriving_pool;
  BlockPool blocks;
  Counters counters = {};
  NoticeHandler notice_handlers[16] = {};
  /// Called when an access that begin_access() began is complete.
  void (*on_accessed)(uint64_t cookie, Status status) = nullptr;
  void (*on_peer_failed)(uint32_t process, const std::string& why) = nullptr;
  /// Called when a message for the process endpoint was queued because no receive matches it yet.
  void (*on_unmatched)(const UnexpectedMessage* message) = nullptr;
  /// Its address marks a lost process, as PeerState::head.
  DeferredFrame lost_mark{};

 private:
  bool poll_or_end();
  bool make_pull(RecvOp* op, uint32_t process, uint64_t cookie, uint64_t n, Pull** out,
                 uint64_t* name);
  void spin_between(const bool* done);
  void arrive(const transport::Header& h, const void* payload, size_t length);
  void on_clear(const transport::Header& h);
  void on_data(const transport::Header& h, const void* payload, size_t length);
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

// ---- Completion ---------------------------------------------------------------------------------

inline void complete_op(RecvOp* op) {
  op->done = true;
  if (op->finish)
    op->finish(op);
  else if (op->proclet)
    sched::ready(op->proclet);
}
inline void complete_op(SendOp* op) {
  op->done = true;
  if (op->finish)
    op->finish(op);
  else if (op->proclet)
    sched::ready(op->proclet);
}

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
