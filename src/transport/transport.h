// Transports: how a header and its payload get from one process to another.
//
// One interface for all; the transport bit of a process's address-vector element picks which one
// carries its messages (src/ch4-av-rankmap). A transport moves frames reliably and in order per
// pair of processes, never blocks, never switches, and pushes back (try_send returns false) instead
// of losing or queueing without bound. Everything above (matching, rendezvous, ordering of deferred
// sends) is src/pt2pt's. Adding a transport is one folder below this one (README.md).
//
// Thread rule: one thread per process; peers are other processes.
// Frames come from outside: an implementation checks lengths and never trusts them (a malformed
// frame is refused and counted).
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
  uint64_t kind : 8;     ///< meaning belongs to src/pt2pt
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
  kNothing,  ///< of those that fetch: reads
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
  AtomicOp op = AtomicOp::kReplace;  ///< of the last three kinds
  AtomicType type = AtomicType::kInt8;
  uint64_t remote = 0;            ///< address in the peer
  uint64_t key = 0;               ///< what the peer's grant_access() returned
  const void* source = nullptr;   ///< kWrite and atomics; nullptr for kNothing
  const void* compare = nullptr;  ///< kSwap
  void* result = nullptr;         ///< kRead, kFetch, kSwap
  size_t length = 0;              ///< bytes
  uint64_t cookie = 0;            ///< for Sink::accessed
};

/// Who takes what arrives. Called from poll() only; may call sched::ready, must not switch.
class Sink {
 public:
  virtual ~Sink() = default;
  /// `payload` (length bytes) is valid during the call only.
  virtual void deliver(const Header& header, const void* payload, size_t length) = 0;
  /// A read() that was pending is done.
  virtual void read_done(uint64_t cookie, Status status) = 0;
  /// An access() is complete: what it wrote is in the peer's memory, what it read here.
  virtual void accessed(uint64_t cookie, Status status) { (void)cookie, (void)status; }
  /// A payload that try_lend() kept is the lender's again; once for each. Of those who lend only.
  virtual void returned(void* lender) { (void)lender; }
  /// The peer is gone (killed, unreachable): one line of words. The job is to be ended.
  virtual void peer_failed(uint32_t process, const std::string& why) = 0;
};

enum class ReadResult : uint8_t { kDone, kPending, kUnsupported, kFailed };
enum class LendResult : uint8_t { kNoRoom, kSent, kLent };

class Transport {
 public:
  virtual ~Transport() = default;
  virtual const char* name() const = 0;

  /// Can this transport carry messages to the peer that published `address`? False for an address
  /// of another transport, of another host (shm), or in a format it does not know. After open().
  virtual bool reaches(const std::string& address) const = 0;

  /// This process's address, to be published to peers: at most 200 printable bytes without spaces.
  virtual Status open(Sink* sink, std::string* address) = 0;
  /// Introduces peer `process` by its published address. Called once per peer before the first
  /// send; `local` receives the 63 bits to keep in its address-vector element. Constant memory per
  /// peer at most.
  virtual Status add_peer(uint32_t process, const std::string& address, uint64_t* local) = 0;
  /// All peers were added and every process has got here (a fence lies between): names may be
  /// unlinked, and messages sent. `me`: the number that this process has for its peers.
  virtual void all_connected(uint32_t me) { (void)me; }

  /// Largest payload of one frame.
  virtual size_t max_payload() const = 0;
  /// Sends one frame; the payload (at most max_payload() bytes) is copied before this returns.
  /// False: no room now, nothing was sent, try again after poll().
  virtual bool try_send(uint32_t process, uint64_t peer, const Header& header, const void* payload,
                        size_t length) = 0;
  /// The least payload that is worth lending; SIZE_MAX: this transport copies all. Fixed by open().
  virtual size_t least_lent() const { return SIZE_MAX; }
  /// As try_send (kNoRoom, kSent), or kLent: the frame is under way, and its payload must neither
  /// change nor go before Sink::returned(lender), which only poll() calls. `lender` is not nullptr.
  virtual LendResult try_lend(uint32_t process, uint64_t peer, const Header& header,
                              const void* payload, size_t length, void* lender) {
    (void)lender;
    return try_send(process, peer, header, payload, length) ? LendResult::kSent
                                                            : LendResult::kNoRoom;
  }
  /// The longest message that had better be sent unasked, in several frames if need be, than waited
  /// with until its receive asks for it. Fixed by open().
  virtual size_t most_unasked() const { return max_payload(); }

  /// The peer may soon read `length` bytes of this process's memory: lets it, where the kernel
  /// wants that said. Called before the peer is told of the message.
  virtual void expose(uint32_t process, uint64_t peer, size_t length) {
    (void)process, (void)peer, (void)length;
  }
  /// Reads `length` bytes at `remote` in the peer's memory into `local` (rendezvous by pull).
  /// kPending: Sink::read_done(cookie) follows. kUnsupported: this pair cannot, or should not for
  /// this length; use data frames.
  virtual ReadResult read(uint32_t process, uint64_t peer, uint64_t remote, void* local,
                          size_t length, uint64_t cookie) = 0;

  // One-sided communication (src/rma), by providers that move a peer's memory themselves.
  /// Lets peers that know the returned key access all memory of this process, until it has been
  /// withdrawn as often as granted. 0: this transport cannot.
  virtual uint64_t grant_access() { return 0; }
  virtual void withdraw_access() {}
  /// How windows reach memory behind this transport, and why not better: fgmpi-info -v. Empty:
  /// nothing to say.
  virtual std::string describe_access() const { return {}; }
  /// Accesses need no processor of the peer: better than asking it by frames.
  virtual bool access_pays() const { return false; }
  /// Bytes of an atomic access at most; 0: the provider has no such. It is carried out by the
  /// peer's processor. Several that are under way may pass each other.
  virtual size_t most_atomic(Access::Kind kind, AtomicOp op, AtomicType type) const {
    (void)kind, (void)op, (void)type;
    return 0;
  }
  /// Begins an access; Sink::accessed follows, also where it fails. Its memory here must stay until
  /// then. REQUIRES: the peer granted it by this transport; atomics: at most most_atomic() bytes.
  virtual void access(uint64_t peer, const Access& what) { (void)peer, (void)what; }

  /// Takes in what has arrived; returns true when there was anything.
  virtual bool poll() = 0;

  /// Getting ready to sleep: after arm() returned true, anything that arrives (room for a refused
  /// try_send too) makes the next sleep return at once. False: something is there already, poll
  /// again.
  virtual bool arm() = 0;
  /// Awake again (or arm() of another transport returned false).
  virtual void disarm() {}
  /// From now on this transport is slept on by its descriptor, because another one has one too.
  /// Returns wait_fd(), or -1 when it has none: then it must be polled.
  virtual int use_wait_fd() { return wait_fd(); }
  /// A file descriptor that becomes readable when armed and something arrives, or -1 when this
  /// transport sleeps in its own way, on a futex or blindly for a while: then sleep() is used, if
  /// it is the only one, and the others' descriptors and a look every millisecond if not.
  virtual int wait_fd() const { return -1; }
  /// At most `timeout_ns` (-1: no limit). REQUIRES: arm() returned true, wait_fd() is -1.
  virtual void sleep(int64_t timeout_ns) { (void)timeout_ns; }
  /// Ends a sleep() that another thread of this process is in, or is about to begin. REQUIRES:
  /// wait_fd() is -1.
  virtual void interrupt() {}
  /// After arm(): how many nanoseconds a sleep may last although nothing arrives.
  virtual int64_t longest_sleep() const { return INT64_MAX; }
  /// Called about once a second while the process waits: looks whether peers are still alive.
  /// Returns what poll() does for what it took in meanwhile.
  virtual bool tick() { return false; }
  /// Nothing that was sent is on its way without being waited for by a poll(): of transports that
  /// lose and repeat.
  virtual bool quiet() const { return true; }
  /// Frames that were refused because they were malformed or came from a stranger.
  virtual uint64_t refused() const { return 0; }

  /// Frames sent but possibly not yet taken in by the peer are flushed; then everything is
  /// released.
  virtual void close() = 0;
};

}  // namespace fgmpi::transport
