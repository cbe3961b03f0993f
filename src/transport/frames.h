// Frames: how a header and its payload get from one process to another.
//
// A FrameCarrier sends frames to the processes that it has been connected to, and delivers the
// frames that arrive from them to its FrameSink. Frames arrive whole, once, and in the order in
// which they were sent, for each pair of processes. A carrier never blocks, never switches, and
// pushes back (try_send returns false) instead of losing frames or queueing without bound.
// Everything above (matching, rendezvous, ordering of deferred sends) is in src/pt2pt.
//
// A carrier is a WaitSource (waiting.h): polling it is what receives frames. Where it can reach the
// memory of other processes, it has a MemoryReader and a GrantedMemory (remote_memory.h). How a
// carrier comes to its connections is not part of this interface: Transport (transport.h) connects
// the processes of a job, and links (src/dynamic) those of different jobs.
//
// Thread rule: one thread per process; peers are other processes.
// Frames come from outside: an implementation checks lengths and never trusts them. A malformed
// frame is refused and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/remote_memory.h"
#include "transport/waiting.h"

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

/// Receives what arrives. Its functions are called by poll() only; they may call sched::ready, and
/// must not switch.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  /// `payload` (length bytes) is valid during the call only.
  virtual void deliver(const Header& header, const void* payload, size_t length) = 0;
  /// A payload that try_lend() has borrowed belongs to its lender again. Called once for each.
  virtual void returned(void* lender) = 0;
  /// The peer is lost (killed, unreachable); `why` is one line of words. The job is to be ended.
  virtual void peer_failed(uint32_t process, const std::string& why) = 0;
};

enum class LendResult : uint8_t { kNoRoom, kSent, kLent };

/// In its functions, `process` is the peer's index in the address vector, and `peer` the 63 bits
/// that the peer's address-vector element has for its carrier.
class FrameCarrier : public WaitSource {
 public:
  virtual const char* name() const = 0;

  /// Largest payload of one frame.
  virtual size_t max_payload() const = 0;
  /// Sends one frame; the payload (at most max_payload() bytes) is copied before this returns.
  /// False: there is no room, nothing was sent, try again after poll().
  virtual bool try_send(uint32_t process, uint64_t peer, const Header& header, const void* payload,
                        size_t length) = 0;
  /// Room for the payload of the next frame to the peer, which the caller writes there, whole,
  /// before it calls send_reserved(). nullptr: there is none, or this carrier only copies payloads;
  /// then try_send() is for the frame. REQUIRES: length <= max_payload().
  virtual char* try_reserve(uint32_t process, uint64_t peer, size_t length) {
    (void)process, (void)peer, (void)length;
    return nullptr;
  }
  /// Sends the frame for which try_reserve() has returned room. REQUIRES: no call of this carrier
  /// lies between the two.
  virtual void send_reserved(uint32_t process, uint64_t peer, const Header& header, size_t length) {
    (void)process, (void)peer, (void)header, (void)length;
  }
  /// The longest message that is better sent without a request, in several frames if need be, than
  /// held back until its receive asks for it. Fixed once the carrier is open.
  virtual size_t most_unasked() const { return max_payload(); }

  /// The smallest payload that is worth lending; SIZE_MAX: this carrier always copies. Fixed once
  /// the carrier is open.
  virtual size_t least_lent() const { return SIZE_MAX; }
  /// Like try_send (kNoRoom, kSent), or kLent: the frame is under way, and its payload must
  /// neither change nor be freed before FrameSink::returned(lender), which only poll() calls.
  /// `lender` is not nullptr. A carrier that always copies sends the frame here as well.
  virtual LendResult try_lend(uint32_t process, uint64_t peer, const Header& header,
                              const void* payload, size_t length, void* lender) {
    (void)lender;
    return try_send(process, peer, header, payload, length) ? LendResult::kSent
                                                            : LendResult::kNoRoom;
  }

  /// What reads announced messages out of peers' memory; nullptr: nothing does. Fixed once the
  /// carrier is open.
  virtual MemoryReader* memory_reader() { return nullptr; }
  /// What accesses memory that peers have granted; nullptr: nothing does. Fixed once the carrier is
  /// open.
  virtual GrantedMemory* granted_memory() { return nullptr; }
  /// What waits for words in memory that this process shares with peers; nullptr: nothing does.
  /// Fixed once the carrier is open.
  virtual SharedWaits* shared_waits() { return nullptr; }
};

}  // namespace fgmpi::transport
