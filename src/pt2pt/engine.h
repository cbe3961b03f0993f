// Inside of pt2pt: operations, frames between processes, and the one Engine that moves them.
//
// Operations. A RecvOp is a posted receive, a SendOp a send that could not complete at once.
// Blocking calls keep theirs on the stack and park; requests embed theirs. Both end in complete(),
// which wakes or calls back.
//
// Unexpected messages at an endpoint:
//   kEager       payload behind the object (an eager copy)
//   kArriving    the same, while frames of it are missing
//   kLocal       the object is the SendOp of a collocated sender that waits; copied from its buffer
//   kRendezvous  a sender in another process waits for a pull
//   kTakingIn    a rendezvous that is being pulled before its match (buffer_limit.h)
//   kTakenIn     the same, pulled: payload behind the object, the sender has its answer
//
// Frames (transport::Header::kind):
//   kEager, kEagerSync   a message; the second is answered by kAck when matched and whole
//   kMore                the rest of one that is longer than a frame: nothing but other kinds'
//                        frames comes between
//   kRequest             "I have size bytes at addr": rendezvous; pulled by Transport::read,
//                        answered by kAck,
//   kClear, kData        or, where read is not supported, asked for by kClear (ctx: cookie of the
//                        pull) and sent in pieces (addr: offset; cookie: of the pull)
//   kAck                 the send with this cookie is complete
//   kCredit              size bytes of eager messages were consumed
//   kCancel, kCancelled  asks for the removal of an unmatched message / it has been removed
//   kNotice              tag: kind of notice
//   kEagerPastLimit, kRequestPastLimit   kEagerSync and kRequest of a standard send that would be
//                        kEager if the window allowed it: when all ranks wait, it is answered
//                        before its match (buffer_limit.h)
//
// Flow control. A process keeps at most FGMPI_UNEXPECTED_LIMIT bytes of eager copies: half for
// collocated senders (all of it in a job of one process), half shared out evenly as windows of the
// other processes. A sender counts what is on its way or unconsumed at each peer and turns to
// rendezvous when its window is used up; the receiver returns credit when a quarter of a window has
// been consumed.
//
// Lending. Where the transport can send from the user's memory (Transport::try_lend), longer
// payloads are not copied: a SendOp is then complete when it would be otherwise and all that it
// lent has been returned.
//
// Order. Frames to a process go through one FIFO (deferred frames first), so nothing overtakes.
// Thread rule: one thread. Nothing here switches unless it says so.
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
enum class Answer : uint8_t {
  kNone,
  kWhenMatched,
  kPastLimit,  ///< when matched, or before that if all ranks wait
};
/// Of the frame with which a message begins.
inline Answer answer_of(uint64_t kind) {
  if (kind == kEagerPastLimit || kind == kRequestPastLimit) return Answer::kPastLimit;
  return kind == kEager ? Answer::kNone : Answer::kWhenMatched;
}

/// A posted receive.
struct RecvOp : Posted {
  const Buffer* buffer;
  char* data;         ///< destination when it is contiguous, else nullptr
  uint64_t capacity;  ///< bytes
  /// capacity + 1 when `data` is set and whoever completes it has no more to do than complete_op()
  /// says; else 0.
  uint64_t direct = 0;
  Outcome* outcome;
  void (*finish)(RecvOp*) = nullptr;  ///< called when done; nullptr: `proclet` is made ready
  sched::Proclet* proclet = nullptr;
  void* owner;  ///< of finish()
  bool done = false;
  bool queued = false;  ///< in a posted queue

  void prepare(const Buffer& b, Outcome* o) {
    buffer = &b;
    outcome = o;
    capacity = static_cast<uint64_t>(b.bytes());
    data = b.type.contiguous() ? static_cast<char*>(b.address) + b.type.true_lb() : nullptr;
  }
};

struct Unexpected : Arrived {
  enum Kind : uint8_t { kEager, kArriving, kLocal, kRendezvous, kTakingIn, kTakenIn };
  uint64_t size;
  uint64_t cookie;  ///< the sender's, where an answer is due
  /// kRendezvous: the sender's buffer; kArriving: the Arriving; kTakingIn: the TakingIn.
  uint64_t addr;
  uint32_t process;  ///< where it came from
  Kind kind;
  Answer answer;  ///< that is due to its sender; kLocal: kWhenMatched or kPastLimit
  uint8_t size_class;
  bool queued;
  char* payload() { return reinterpret_cast<char*>(this + 1); }
};
static_assert(sizeof(Unexpected) == 72);

struct SendOp;

/// A frame that waits for room.
struct Frame {
  enum Role : uint8_t { kOwn, kOfSend, kLastOfSend, kStream, kPieces };
  Frame* next;
  transport::Header header;
  const void* payload;
  uint32_t length;
  /// kOwn: freed when sent; kOfSend: part of `op`; kLastOfSend: completes it; kStream: data frames;
  /// kPieces: all frames of an eager message of several (header.addr: bytes that have left).
  Role role;
  SendOp* op;
};

/// A send that waits: for its match (collocated), for room, or for an answer.
struct SendOp : Unexpected {
  const Buffer* buffer = nullptr;
  const char* data = nullptr;  ///< contiguous bytes (the user's or packed), or nullptr
  void* packed = nullptr;      ///< owned
  Peer to = {};
  void (*finish)(SendOp*) = nullptr;
  sched::Proclet* proclet = nullptr;
  void* owner = nullptr;  ///< of finish()
  bool done = false;
  bool cancelled = false;
  bool over = false;  ///< complete once the transport has returned what it was lent
  uint32_t lent = 0;  ///< payloads that the transport has not returned
  Status error;
  Frame frame;

  SendOp() = default;
  ~SendOp() { free(packed); }
};

/// A rendezvous that the receiver has under way.
struct Pull {
  RecvOp* op;
  uint64_t sender_cookie;
  char* destination;
  char* staging;  ///< owned when the receive buffer is not contiguous
  uint64_t length, missing;
  uint32_t process;
  bool reading = false;  ///< Engine::read_done() will be called
};

/// An eager message of several frames, some of which have come. Its frames follow one another, so
/// there is at most one a peer process.
struct Arriving {
  Unexpected* kept;   ///< where it goes when no receive has taken it yet, else nullptr
  RecvOp* op;         ///< the receive that has taken it, if one has
  char* destination;  ///< where its bytes go
  char* staging;      ///< owned when the receive buffer is not contiguous
  uint64_t fits;      ///< bytes of it that there is room for
  uint64_t size, arrived;
  uint64_t cookie;  ///< the sender's, if an answer is due
  Answer answer;
};
static_assert(sizeof(Arriving) == 72);

/// Objects named in frames: <generation, slot>, so that a stale or wrong name finds nothing.
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
    Slot& slot = slots_[static_cast<uint32_t>(cookie)];
    slot.object = nullptr;
    ++slot.generation;
    slot.next = free_;
    free_ = static_cast<uint32_t>(cookie);
    --used_;
    return object;
  }
  uint32_t used() const { return used_; }
  /// f(cookie, object); f must not put or take.
  template <class F>
  void for_each(F&& f) const {
    for (uint32_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].object) f(uint64_t{slots_[i].generation} << 32 | i, slots_[i].object);
  }

 private:
  static constexpr uint32_t kNone = ~0u;
  struct Slot {
    T* object;
    uint32_t generation;
    uint32_t next;
  };
  std::vector<Slot> slots_;
  uint32_t free_ = kNone;
  uint32_t used_ = 0;
};

/// A proclet parked in MPI_Probe.
struct Prober {
  Prober* next;
  Envelope pattern;
  sched::Proclet* proclet;
  bool found;
  Status error = {};  ///< nothing will be found (lost.h)
};

class alignas(64) Endpoint {
 public:
  PostedQueue posted;
  UnexpectedQueue unexpected;
  Prober* probers = nullptr;
};
static_assert(sizeof(Endpoint) <= 64, "memory budget: an idle endpoint");

struct PeerState {
  uint64_t in_flight = 0;  ///< bytes charged for eager frames that the peer has not consumed
  uint64_t to_return = 0;  ///< bytes of its eager frames consumed here, credit not yet sent
  /// Frames that wait for room; &Engine::lost_mark when the process is lost.
  Frame* head = nullptr;
  Frame* tail = nullptr;
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
  /// What an eager message of `bytes` costs its receiver.
  static uint64_t charge(uint64_t bytes) { return bytes + 128; }

  bool poll_transports() {
    ++counters.polls;
    bool moved = transports[0] && transports[0]->poll();
    if (__builtin_expect(polls_more, 0)) moved |= poll_others();
    return moved;
  }
  bool poll_others() {
    bool moved = transports[1] && transports[1]->poll();
    if (beside) moved |= beside->poll();
    return moved;
  }
  bool progress();
  /// Polls for a short while in place when no other proclet could run, until *done. Never switches.
  void spin(const bool* done) {
    if (processes > 1 && !*done) spin_between(done);
  }

  // ---- Sending frames ---------------------------------------------------------------------------
  /// Sends at once if nothing waits before it and there is room.
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
  /// The same for a payload that may be lent: it belongs to `op`, which waits until it is returned.
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
  void defer(uint32_t process, Frame* frame);
  /// A frame that waits for a process that is lost, or belongs to no job that this one knows any
  /// more: ends its send, with an error if the process is lost.
  void drop_frame(uint32_t process, Frame* frame);
  /// Sends or defers a frame of our own with a copy of the payload.
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
  /// A message of `bytes` is kept for a receive that has not come.
  void count_unexpected(uint64_t bytes) {
    counters.unexpected_bytes += charge(bytes);
    if (counters.unexpected_bytes > counters.unexpected_bytes_peak)
      counters.unexpected_bytes_peak = counters.unexpected_bytes;
  }
  bool window_allows(uint32_t process, uint64_t bytes) const {
    return peers[process].in_flight + charge(bytes) <= window;
  }

  /// Accesses memory that the process has granted to this one; on_accessed() follows.
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
  /// Completes a send; if payloads of it are still lent to the transport, when they are returned.
  void finish_send(SendOp* op);
  bool push_pieces(uint32_t process, Frame* frame);
  void return_credit(uint32_t process, uint64_t bytes) {
    PeerState& peer = peers[process];
    peer.to_return += charge(bytes);
    if (__builtin_expect(peer.to_return * 4 >= window, 0)) send_credit(process);
  }
  void send_credit(uint32_t process);

  Endpoint* endpoints = nullptr;       ///< [0]: the process's; [local + 1]: the proclets'
  uint32_t endpoint_room = 0;          ///< how many are reserved: they never move
  std::unique_ptr<PeerState[]> peers;  ///< by process, those of other jobs behind the own
  uint32_t peer_room = 0;
  bool connected_to_others = false;     ///< other jobs may send something
  uint64_t connection_changes = 0;      ///< how often that has changed
  std::vector<uint32_t> waiting_peers;  ///< peers with deferred frames
  transport::Transport* transports[2] = {nullptr, nullptr};
  bool first_shares_memory = false;        ///< transports[0] is the one by shared memory
  transport::Transport* beside = nullptr;  ///< carries no frames: polled only (poll_beside())
  bool polls_more = false;                 ///< there is one beside transports[0]
  uint32_t local_count = 0;
  uint32_t me = 0, processes = 0;
  uint64_t eager_local = 0;  ///< FGMPI_EAGER_LOCAL
  /// FGMPI_EAGER_REMOTE, at most what the transport says; by transport bit.
  uint64_t eager_remote[2] = {};
  /// What of it is sent at once: fits a frame and is not to be lent.
  uint64_t copied_remote[2] = {};
  uint64_t least_lent[2] = {};
  uint64_t local_limit = 0;  ///< of eager copies made by collocated senders
  uint64_t window = 0;       ///< of eager bytes in flight or unconsumed per peer process
  /// By what FGMPI_UNEXPECTED_LIMIT has been multiplied (buffer_limit.h).
  uint64_t limit_given = 1;
  uint64_t local_unexpected = 0;
  uint64_t frames_sent = 0, frames_received = 0;  ///< for termination detection
  uint64_t bad_frames = 0;
  bool detecting = false;  ///< this process looks for the end of activity (termination.cc)
  uint32_t pulls_pending = 0;
  uint32_t lent = 0;      ///< payloads that transports have not returned
  uint32_t accesses = 0;  ///< accesses to other processes' memory that are under way
  Cookies<SendOp> sends;
  Cookies<Pull> pulls;
  Pool<Pull> pull_pool;
  Pool<Arriving> arriving_pool;
  Blocks blocks;
  Counters counters = {};
  NoticeHandler notice_handlers[16] = {};
  /// What begin_access() began is complete.
  void (*on_accessed)(uint64_t cookie, Status status) = nullptr;
  void (*on_peer_failed)(uint32_t process, const std::string& why) = nullptr;
  /// A message for the process itself was queued since no receive takes it yet.
  void (*on_unmatched)(const Unexpected* message) = nullptr;
  Frame lost_mark{};  ///< PeerState::head of a lost process

 private:
  bool poll_or_end();
  bool make_pull(RecvOp* op, uint32_t process, uint64_t cookie, uint64_t n, Pull** out,
                 uint64_t* name);
  void spin_between(const bool* done);
  void arrive(const transport::Header& h, const void* payload, size_t length);
  void on_clear(const transport::Header& h);
  void on_data(const transport::Header& h, const void* payload, size_t length);
  void begin_arriving(const transport::Header& h, RecvOp* op, Unexpected* kept);
  bool may_arrive(const transport::Header& h, size_t length) const;
  void on_piece(const transport::Header& h, const void* payload, size_t length);
  void take_piece(uint32_t process, const void* payload, size_t length);
  void on_cancel(const transport::Header& h);
  void on_cancelled(const transport::Header& h);
  bool push_frames(uint32_t process);
  bool push_stream(uint32_t process, Frame* frame);
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

/// Trimmers (proclet-sched/sched.h) of what the queues, and buffered sends, are made of.
bool trim_matching();
bool trim_buffered_sends();

/// Keeps the first error of a receive.
void note(RecvOp* op, Status status);
/// MPI_ERR_NO_MEM for the bytes of a message that must be held between two buffers.
Status no_memory_for_message(uint64_t bytes);

/// Sets source, tag and size; returns how many bytes fit and notes a truncation.
uint64_t truncated(RecvOp* op, uint64_t size);
inline uint64_t set_outcome(RecvOp* op, const Envelope& from, uint64_t size) {
  op->outcome->source = from.source;
  op->outcome->tag = from.tag;
  op->outcome->bytes = size;
  return __builtin_expect(size <= op->capacity, 1) ? size : truncated(op, size);
}
/// Fills the receive buffer from `size` contiguous bytes; sets the outcome. Does not complete.
void fill(RecvOp* op, const Envelope& from, const void* bytes, uint64_t size);
/// The same for bytes that another process has written.
void fill_across(RecvOp* op, const Envelope& from, const void* bytes, uint64_t size);
/// The same for a buffer that is not contiguous, when `n` bytes fit and the outcome is set.
void unpack_into(RecvOp* op, const void* bytes, uint64_t n);
/// Fills it from a collocated sender's buffer.
void fill_from(RecvOp* op, const Envelope& from, const Buffer& source);

// ---- Unexpected messages ------------------------------------------------------------------------

/// A new eager entry with room for `size` bytes behind it (not yet in a queue); nullptr when there
/// is no memory.
Unexpected* new_unexpected(const Envelope& envelope, uint64_t size, bool with_payload);
void drop_unexpected(Unexpected* u);
/// Puts it into the queue and wakes who probes for it.
void push_unexpected(Endpoint* at, Unexpected* u);
inline void remove_unexpected(Endpoint* at, Unexpected* u) {
  at->unexpected.remove(u);
  u->queued = false;
}
/// Gives a message that is in no queue any more to a receive. Completes it, at once or when pulled.
void consume(Unexpected* u, RecvOp* op);

/// The posted receive that takes this message, removed from its queue, or nullptr.
inline RecvOp* take_posted(Endpoint* at, const Envelope& message) {
  if (at->posted.empty()) return nullptr;
  RecvOp* op = static_cast<RecvOp*>(at->posted.take(message));
  if (op) op->queued = false;
  return op;
}

/// Starts a receive: takes a waiting message or posts. op->done when it is complete already. Out of
/// line: in line it takes registers from the shorter ways beside it (pt2pt_inl.h).
[[gnu::noinline]] inline void start_recv(RecvOp* op, Endpoint* at, const Envelope& pattern) {
  if (!at->unexpected.empty()) {
    if (Arrived* a = at->unexpected.find(pattern)) {
      Unexpected* u = static_cast<Unexpected*>(a);
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
/// Tries to complete a send at once, without an operation: a posted receive, an eager copy or a
/// frame.
bool send_at_once(const Buffer& buffer, Peer to, const Envelope& envelope, Mode mode);
/// Starts one that could not. op->buffer, ->to and ->envelope are set. May complete it.
void start_send(SendOp* op, Mode mode);

/// A destination whose address has to be asked for: sets op->to where it is known by now and
/// returns true; else the send waits, and is started by address_known(). REQUIRES: op->to.process
/// == kUnknownProcess.
bool find_address(SendOp* op, Mode mode);
/// Takes a send out that waits for an address. False: it does not.
bool stop_waiting_for_address(SendOp* op);

inline Message* as_message(Unexpected* u) { return reinterpret_cast<Message*>(u); }
inline Unexpected* as_unexpected(Message* m) { return reinterpret_cast<Unexpected*>(m); }

}  // namespace fgmpi::pt2pt
