// Remote memory: how a process reaches the memory of another one without a frame for each piece.
//
// There are two ways, and a carrier of frames (frames.h) may have one of them, both or none:
//   - A MemoryReader reads a message out of its sender's memory once the sender has announced it
//     (rendezvous by pull). The kernel can do that on one host, hardware between hosts.
//   - A GrantedMemory reads and writes memory that a process has granted to its peers, and performs
//     atomic operations on it (windows of src/rma). Only the provider of a network can do that.
//
// `peer` is the 63 bits that the peer's address-vector element has for the carrier.
//
// Thread rule: one thread. Nothing here blocks or switches, except that calls of libfabric run on
// the host stack. What is pending ends in a call of the MemorySink by the carrier's poll().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace fgmpi::transport {

/// Receives the ends of what is pending. Its functions are called by poll() only; they may call
/// sched::ready, and must not switch.
class MemorySink {
 public:
  virtual ~MemorySink() = default;
  /// A pending MemoryReader::read() is complete.
  virtual void read_done(uint64_t cookie, Status status) = 0;
  /// A GrantedMemory::access() is complete: what it wrote is in the peer's memory, what it read is
  /// here.
  virtual void accessed(uint64_t cookie, Status status) = 0;
};

// ---- Reading announced messages -----------------------------------------------------------------

enum class ReadResult : uint8_t { kDone, kPending, kUnsupported, kFailed };

class MemoryReader {
 public:
  virtual ~MemoryReader() = default;
  /// Reads `length` bytes at `remote` in the peer's memory into `local`. kPending:
  /// MemorySink::read_done(cookie) follows. kUnsupported: this pair cannot read, or should not for
  /// this length; use data frames.
  virtual ReadResult read(uint32_t process, uint64_t peer, uint64_t remote, void* local,
                          size_t length, uint64_t cookie) = 0;
  /// True where read() never returns kPending.
  virtual bool reads_at_once() const { return false; }
  /// Called at the sender, before a message of `length` bytes is announced to the peer: obtains the
  /// permission to read it, where the kernel requires one.
  virtual void expose(uint32_t process, uint64_t peer, size_t length) {
    (void)process, (void)peer, (void)length;
  }
};

// ---- Accessing granted memory -------------------------------------------------------------------

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

/// One access to memory of a peer.
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
  uint64_t cookie = 0;            ///< for MemorySink::accessed
};

class GrantedMemory {
 public:
  virtual ~GrantedMemory() = default;
  /// Lets peers that have the returned key access all memory of this process, until the access has
  /// been withdrawn as often as granted. 0: the provider in use cannot.
  virtual uint64_t grant_access() = 0;
  virtual void withdraw_access() = 0;
  /// Words for fgmpi-info -v: how windows reach memory here, and why not in a better way.
  virtual std::string describe_access() const = 0;
  /// True when accesses need no processor of the peer, and so are better than frames that ask it.
  virtual bool access_pays() const = 0;
  /// The most bytes of an atomic access; 0: the provider has no such operation. The peer's
  /// processor carries it out. Several accesses under way may overtake each other.
  virtual size_t most_atomic(Access::Kind kind, AtomicOp op, AtomicType type) const = 0;
  /// Begins an access; MemorySink::accessed follows, also where it fails. Its memory in this
  /// process must stay until then. REQUIRES: the peer granted access; atomics: at most
  /// most_atomic() bytes.
  virtual void access(uint64_t peer, const Access& what) = 0;
};

}  // namespace fgmpi::transport
