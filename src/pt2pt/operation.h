// Operations of point-to-point, messages that wait for a receive, and frames that wait for room.
//
// A RecvOp is a posted receive, a SendOp a send that could not complete at once. Blocking calls
// keep theirs on the stack and park; requests embed theirs. Both end in complete_op(), which wakes
// or calls back.
//
// Unexpected messages at an endpoint:
//   kEager       payload behind the object (an eager copy)
//   kArriving    an eager copy some frames of which have not arrived yet
//   kLocal       the object is the SendOp of a collocated sender that waits; copied from its buffer
//   kRendezvous  a sender in another process waits for a pull
//   kPulling     a rendezvous that is being pulled before its match (buffer_limit.h)
//   kPulled      a rendezvous pulled before its match: payload behind the object; the sender has
//                been answered
//   kForwarded   an eager message that came by the ways of forwarding.h; addr: the process that
//                returns its credit
//   kHeldBack    of another kind, which the decider knows: it takes the match (message_decider.h)
//
// Frames (transport::Header::kind):
//   kEager, kEagerSync   a message; kEagerSync is answered by kAck when matched and whole
//   kMore                the rest of a message that is longer than a frame. Between its frames only
//                        frames of other kinds come, never another message
//   kRequest             "I have size bytes at addr": begins a rendezvous. The receiver pulls the
//                        bytes by MemoryReader::read and answers by kAck. addr is 0 where the
//                        bytes are no row
//   kClear, kData        where they cannot be read: the receiver asks for the bytes by kClear
//                        (ctx: cookie of the pull), and the sender sends them in pieces (addr:
//                        offset; cookie: of the pull)
//   kAck                 the send with this cookie is complete
//   kCredit              size bytes of eager messages were consumed
//   kCancel, kCancelled  asks for the removal of an unmatched message / it has been removed
//   kNotice              tag: kind of notice
//   kEagerPastLimit, kRequestPastLimit   kEagerSync and kRequest of a standard send that the window
//                        keeps from being kEager: when all ranks wait, it is answered before its
//                        match (buffer_limit.h)
//   kMoving, kMovingMore, kMoveNote      items and notes about ranks that move (moved_endpoints.h)
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstdint>

#include "proclet-sched/sched.h"
#include "pt2pt/match.h"
#include "pt2pt/pt2pt.h"
#include "transport/transport.h"

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
  kMoving,
  kMovingMore,
  kMoveNote,
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
  uint64_t direct;
  Outcome* outcome;
  void (*finish)(RecvOp*);  ///< called when done; nullptr: `proclet` is made ready
  sched::Proclet* proclet;
  void* owner;  ///< the object that finish() acts on
  bool done;
  bool queued;   ///< the operation is in a queue of posted receives
  bool of_part;  ///< the operation is a PartRecvOp
  bool unused;   ///< lets one instruction set all four

  RecvOp() : direct(0), finish(nullptr), proclet(nullptr) { set_flags(false); }
  /// Leaves all members unset, for the fast path, which sets each of them once.
  enum Unset { kUnset };
  explicit RecvOp(Unset) {}
  void set_flags(bool in_queue) {
    done = false;
    queued = in_queue;
    of_part = unused = false;
  }

  /// Marks an operation that was queued as complete. REQUIRES: `direct` is not 0.
  void set_done() {
    done = true;
    queued = of_part = unused = false;
  }

  void prepare(const Buffer& b, Outcome* o) {
    buffer = &b;
    outcome = o;
    capacity = static_cast<uint64_t>(b.bytes());
    data = b.type.contiguous() ? static_cast<char*>(b.address) + b.type.true_lb() : nullptr;
  }
};

/// Receives a message into a part of a buffer's data, which need not be whole elements.
struct PartRecvOp : RecvOp {
  uint64_t first = 0;  ///< the byte of the data at which the part begins
  void prepare_part(const Buffer& whole, uint64_t begin, uint64_t bytes, Outcome* o) {
    prepare(whole, o);
    of_part = true;
    first = begin;
    capacity = bytes;
    if (data) data += begin;
  }
};

struct UnexpectedMessage : Arrived {
  enum UnexpectedKind : uint8_t {
    kEager,
    kArriving,
    kLocal,
    kRendezvous,
    kPulling,
    kPulled,
    kHeldBack,
    kForwarded
  };
  uint64_t size;
  uint64_t cookie;  ///< the sender's cookie, where it expects an answer
  /// kRendezvous: the sender's buffer; kArriving: the Arriving; kPulling: the EarlyPull.
  uint64_t addr;
  uint32_t process;  ///< the process that sent it
  UnexpectedKind kind;
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
  /// completes `op` when sent; kStream: data frames; kPieces: all frames of an eager message that
  /// has several or is no row (header.addr: bytes that have been sent).
  Role role;
  SendOp* op;
};

/// A send that waits: for its match (collocated), for room, or for an answer.
struct SendOp : UnexpectedMessage {
  const Buffer* buffer = nullptr;
  /// The message's bytes where they are a row, between processes; nullptr where they are packed
  /// in pieces.
  const char* data = nullptr;
  Peer to = {};
  void (*finish)(SendOp*) = nullptr;
  sched::Proclet* proclet = nullptr;
  void* owner = nullptr;  ///< the object that finish() acts on
  bool done = false;
  bool cancelled = false;
  bool over = false;  ///< complete as soon as the transport has returned what the operation lent
  bool cancelling = false;  ///< a cancel follows the message to a rank that moves
  uint32_t lent = 0;        ///< payloads that the transport has not returned yet
  Status error;
  DeferredFrame frame;
};

/// An eager message of several frames, some of which have arrived. Its frames follow one another,
/// so there is at most one for each peer process.
struct Arriving {
  /// The queued message that holds the bytes while no receive has matched it, else nullptr.
  UnexpectedMessage* kept;
  RecvOp* op;         ///< the receive that has matched it, or nullptr
  char* destination;  ///< where its bytes are written; nullptr: into the receive's layout
  uint64_t fits;      ///< how many of its bytes there is room for
  uint64_t size, arrived;
  uint64_t cookie;  ///< the sender's cookie, if it expects an answer
  AnswerTime answer;
};
static_assert(sizeof(Arriving) == 64);

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

}  // namespace fgmpi::pt2pt
