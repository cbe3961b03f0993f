// Transports: how a header and its payload get from one process to another.
//
// All transports have one interface; the transport bit of a process's address-vector element picks
// the one that carries its messages (src/ch4-av-rankmap). A transport moves frames reliably and in
// order for each pair of processes, never blocks, never switches, and pushes back (try_send returns
// false) instead of losing frames or queueing without bound. Everything above (matching,
// rendezvous, ordering of deferred sends) is in src/pt2pt. A new transport is one folder below this
// one (README.md).
//
// Thread rule: one thread per process; peers are other processes.
// Frames come from outside: an implementation checks lengths and never trusts them. A malformed
// frame is refused and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace fgmpi::transport {

/// The fixed header of every frame. With a payload of up to 8 bytes and the cell's own word it fits
/// one cache line.
///
///    0     8          12    16          20            24     32       40     47     48
///   | ctx | src_rank | tag | dst_local | src_process | size | cookie | addr | kind |
struct Header {
  uint64_t ctx;      ///< context id with its plane (LID 32 | LBI 24 | plane 8)
  int32_t src_rank;  ///< rank of the sender in the communicator
  int32_t tag;
  uint32_t dst_local;    ///< index of the destination proclet in its process, or kProcessEndpoint
  uint32_t src_process;  ///< process index of the sender in the address vector
  uint64_t size;         ///< bytes of the whole message (not of this frame)
  uint64_t cookie;       ///< the sender's request, echoed in answers
  uint64_t addr : 56;    ///< rendezvous: the sender's buffer; data frames: offset
  uint64_t kind : 8;     ///< its meaning is defined by src/pt2pt
};
static_assert(sizeof(Header) == 48);

/// dst_local of frames for the process itself (collectives' level two, control messages).
inline constexpr uint32_t kProcessEndpoint = 0xffffffffu;

/// Atomic operations of a network's provider, and the types of their elements.
enum class AtomicOp : uint8_t {
  kSum,
  kProduct,
  kMin,
  kMax,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kBitAnd,
  kBitOr,
  kBitXor,
  kReplace,
  kNothing,  ///< for atomics that fetch: reads only
  kSwapIfEqual
};
enum class AtomicType : uint8_t {
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat,
  kDouble
};

/// One access to memory of a peer (access()).
struct Access {
  enum class Kind : uint8_t { kRead, kWrite, kAtomic, kFetch, kSwap } kind;
  AtomicOp op = AtomicOp::kReplace;  ///< for the last three kinds
  AtomicType type = AtomicType::kInt8;
  uint64_t remote = 0;            ///< address in the peer
  uint64_t key = 0;               ///< what the peer's grant_access() returned
  const void* source = nullptr;   ///< kWrite and atomics; nullptr for kNothing
  const void* compare = nullptr;  ///< kSwap
  void* result = nullptr;         ///< kRead, kFetch, kSwap
  size_t length = 0;              ///< bytes
  uint64_t cookie = 0;            ///< for Sink::accessed
};

/// Receives what arrives. Its functions are called by poll() only; they may call sched::ready, and
/// must not switch.
class Sink {
 public:
  virtual ~Sink() = default;
  /// `payload` (length bytes) is valid during the call only.
  virtual void deliver(const Header& header, const void* payload, size_t length) = 0;
  /// A pending read() is complete.
  virtual void read_done(uint64_t cookie, Status status) = 0;
  /// An access() is complete: what it wrote is in the peer's memory, what it read is here.
  virtual void accessed(uint64_t cookie, Status status) { (void)cookie, (void)status; }
  /// A payload that try_lend() has borrowed belongs to its lender again. Called once for each, only
  /// for transports that borrow.
  virtual void returned(void* lender) { (void)lender; }
  /// The peer is lost (killed, unreachable); `why` is one line of words. The job is to be ended.
  virtual void peer_failed(uint32_t process, const std::string& why) = 0;
};

enum class ReadResult : uint8_t { kDone, kPending, kUnsupported, kFailed };
enum class LendResult : uint8_t { kNoRoom, kSent, kLent };

class Transport {
 public:
  virtual ~Transport() = default;
  virtual const char* name() const = 0;

  /// Can this transport carry messages to the peer that published `address`? False for an
  /// address of another transport, of another host (shm), or in an unknown format. REQUIRES:
  /// open() was called.
  virtual bool reaches(const std::string& address) const = 0;

  /// Opens the transport and sets this process's address, which peers get: at most 200 printable
  /// bytes without spaces.
  virtual Status open(Sink* sink, std::string* address) = 0;
  /// Introduces peer `process` by its published address. Called once for each peer, before the
  /// first send. Sets *local to the 63 bits for its address-vector element. Uses at most constant
  /// memory per peer.
  virtual Status add_peer(uint32_t process, const std::string& address, uint64_t* local) = 0;
  /// Called when all peers have been added and every process has reached this call (a fence lies
  /// between): names may be unlinked, and messages sent. `me`: the number that this process has
  /// for its peers.
  virtual void all_connected(uint32_t me) { (void)me; }

  /// Largest payload of one frame.
  virtual size_t max_payload() const = 0;
  /// Sends one frame; the payload (at most max_payload() bytes) is copied before this returns.
  /// False: there is no room, nothing was sent, try again after poll().
  virtual bool try_send(uint32_t process, uint64_t peer, const Header& header, const void* payload,
                        size_t length) = 0;
  /// The smallest payload that is worth lending; SIZE_MAX: this transport always copies.
  /// Fixed by open().
  virtual size_t least_lent() const { return SIZE_MAX; }
  /// Like try_send (kNoRoom, kSent), or kLent: the frame is under way, and its payload must
  /// neither change nor be freed before Sink::returned(lender), which only poll() calls. `lender`
  /// is not nullptr.
  virtual LendResult try_lend(uint32_t process, uint64_t peer, const Header& header,
                              const void* payload, size_t length, void* lender) {
    (void)lender;
    return try_send(process, peer, header, payload, length) ? LendResult::kSent
                                                            : LendResult::kNoRoom;
  }
  /// The longest message that is better sent without a request, in several frames if need be, than
  /// held back until its receive asks for it. Fixed by open().
  virtual size_t most_unasked() const { return max_payload(); }

  /// Lets the peer read `length` bytes of this process's memory, where the kernel requires a
  /// permission. Called before the message is announced to the peer.
  virtual void expose(uint32_t process, uint64_t peer, size_t length) {
    (void)process, (void)peer, (void)length;
  }
  /// Reads `length` bytes at `remote` in the peer's memory into `local` (rendezvous by pull).
  /// kPending: Sink::read_done(cookie) follows. kUnsupported: this pair cannot read, or should not
  /// for this length; use data frames.
  virtual ReadResult read(uint32_t process, uint64_t peer, uint64_t remote, void* local,
                          size_t length, uint64_t cookie) = 0;

  // One-sided communication (src/rma), by providers that move a peer's memory themselves.
  /// Lets peers that have the returned key access all memory of this process, until the access has
  /// been withdrawn as often as granted. 0: this transport cannot.
  virtual uint64_t grant_access() { return 0; }
  virtual void withdraw_access() {}
  /// Words for fgmpi-info -v: how windows reach memory behind this transport, and why not in a
  /// better way. Empty: there is nothing to report.
  virtual std::string describe_access() const { return {}; }
  /// True when accesses need no processor of the peer, and so are better than frames that ask it.
  virtual bool access_pays() const { return false; }
  /// The most bytes of an atomic access; 0: the provider has no such operation. The peer's
  /// processor carries it out. Several accesses under way may overtake each other.
  virtual size_t most_atomic(Access::Kind kind, AtomicOp op, AtomicType type) const {
    (void)kind, (void)op, (void)type;
    return 0;
  }
  /// Begins an access; Sink::accessed follows, also where it fails. Its memory in this process must
  /// stay until then. REQUIRES: the peer granted access by this transport; atomics: at most
  /// most_atomic() bytes.
  virtual void access(uint64_t peer, const Access& what) { (void)peer, (void)what; }

  /// Receives what has arrived; returns true when there was anything.
  virtual bool poll() = 0;

  /// Prepares to sleep. After arm() has returned true, anything that arrives (also room for a
  /// refused try_send) makes the next sleep return at once. False: something has arrived
  /// already; poll again.
  virtual bool arm() = 0;
  /// Called when the process is awake again, or arm() of another transport has returned false.
  virtual void disarm() {}
  /// From now on the process sleeps on this transport's descriptor, because another transport has
  /// one too. Returns wait_fd(), or -1 when there is none: then the transport must be polled.
  virtual int use_wait_fd() { return wait_fd(); }
  /// A file descriptor that becomes readable when the transport is armed and something arrives. -1
  /// when the transport sleeps in its own way, on a futex or for a fixed while. Then sleep() is
  /// used if it is the only transport; otherwise the process sleeps on the others' descriptors and
  /// polls every millisecond.
  virtual int wait_fd() const { return -1; }
  /// Sleeps at most `timeout_ns` (-1: no limit). REQUIRES: arm() returned true, wait_fd() is -1.
  virtual void sleep(int64_t timeout_ns) { (void)timeout_ns; }
  /// Ends a sleep() that another thread of this process is in, or is about to begin. REQUIRES:
  /// wait_fd() is -1.
  virtual void interrupt() {}
  /// How many nanoseconds a sleep may last although nothing arrives. Called after arm().
  virtual int64_t longest_sleep() const { return INT64_MAX; }
  /// Called about once a second while the process waits: checks whether peers are still alive.
  /// Returns true when it received anything, like poll().
  virtual bool tick() { return false; }
  /// For transports that lose and repeat: true when nothing that was sent is under way whose
  /// repetition needs a poll().
  virtual bool quiet() const { return true; }
  /// How many frames were refused because they were malformed or came from a stranger.
  virtual uint64_t refused() const { return 0; }

  /// Flushes frames that were sent but may not have been received by the peer, then
  /// releases everything.
  virtual void close() = 0;
};

}  // namespace fgmpi::transport
