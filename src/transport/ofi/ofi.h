// Messages between hosts, over any libfabric provider with reliable datagrams (FI_EP_RDM).
//
// A process has one endpoint. Arriving messages are written into a few buffers, many messages into
// each (multi-receive). The total of the buffers is bounded by a setting, however many peers there
// are. What is sent is copied into one of a bounded number of send buffers. Where it is long and
// sockets need no registered memory, it is lent instead: the buffer then holds its header only. The
// provider makes connections at the first message. The first message to a peer is a hello with the
// peer's key (frame.h); then frames follow in order.
//
// Over plain sockets only one process of a pair connects, the one with the greater published
// address: net (1.17) may close a good connection where both connect at the same time. When the
// other process has something to send, it opens its lifeline to the peer. The peer answers with its
// hello, and the process sends when that has arrived.
//
// Large messages are read out of the sender's memory (fi_read) where the provider can register all
// memory at once and hardware does the reads; else pt2pt sends them as frames. Where all memory can
// be registered, windows are accessed by fi_read, fi_write and fi_atomic (moving.cc).
//
// Settings: FI_PROVIDER, FGMPI_OFI_INTERFACE, FGMPI_OFI_RECV and FGMPI_OFI_SEND (bytes of
// buffers), FGMPI_OFI_READ=on|off, FGMPI_PEER_TIMEOUT (seconds after which an unreachable host
// counts as lost).
// Thread rule: one thread. Only close() blocks: it flushes for a few seconds at most. Calls of
// libfabric run on the host stack, whoever makes them, and so does the sink within poll().
// Invariants: a send buffer is free or owned by the provider; a receive buffer is posted or being
// re-posted; a failed peer is reported once.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "liveness/lifeline.h"
#include "transport/ofi/fabric.h"
#include "transport/ofi/frame.h"
#include "transport/transport.h"

namespace fgmpi::transport::ofi {

/// The first member of every object that the provider has a pointer to.
struct Operation {
  fi_context2 context;  ///< the provider's
  enum class Type : uint8_t { kSend, kReceive, kMove } type;
};

struct SendBuffer : Operation {
  char* bytes;
  SendBuffer* next;
  size_t length;  ///< bytes filled so far
  uint32_t peer;  ///< index in peers_
  /// The payload that follows, in the lender's memory; or nullptr.
  const void* lent;
  size_t lent_length;
  void* lender;

  void append(const void* from, size_t count) {
    std::memcpy(bytes + length, from, count);
    length += count;
  }
};

/// Receives many messages, one behind the other. The provider marks the last message of a buffer.
/// Where messages of several peers are written side by side, the marked one may be whole before an
/// earlier one is.
struct ReceiveBuffer : Operation {
  char* bytes;
  size_t filled;  ///< bytes of the messages that are whole
  size_t end;     ///< where the last message ends; 0: there is room for more
  bool posted;
  bool torn;  ///< a message in it will never be whole: its peer is lost
};

struct Moving;
struct PieceOperation : Operation {
  Moving* moving;
  bool busy;
};

/// One read() or access() of the layer above, of which a few pieces are under way at a time.
struct Moving {
  static constexpr uint32_t kPieces = 4;
  PieceOperation pieces[kPieces];
  uint32_t peer;       ///< index in peers_
  uint32_t in_flight;  ///< pieces under way
  bool accesses;       ///< of access()
  Access what;         ///< the rest of the access: bytes not yet asked for
  std::string failure;
};

struct OfiPeer {
  fi_addr_t address;
  LifelineKey key;
  uint64_t memory_key;  ///< 0: its memory cannot be read
  uint32_t process;
  uint32_t host;      ///< index in hosts_
  uint16_t lifeline;  ///< port
  /// Messages that the provider has and has not reported as sent.
  uint16_t in_flight;
  bool connects : 1;  ///< this process may connect to the peer at any time
  bool greeted : 1;   ///< this process's hello has been sent
  bool lined : 1;     ///< a lifeline was requested
  bool failed : 1;
};
static_assert(sizeof(OfiPeer) == 48);

class Ofi final : public Transport, private MemoryReader, private GrantedMemory, private OwnSleep {
 public:
  ~Ofi() override { close(); }
  const char* name() const override { return "ofi"; }
  Status open(const Sinks& sinks, std::string* address) override;
  bool reaches(const std::string& address) const override;
  Status add_peer(uint32_t process, const std::string& address, uint64_t* local) override;
  void all_connected(uint32_t me) override {
    me_ = me;
    lifelines_.set_find(me, [this](uint32_t process, liveness::Contact* contact) {
      return find_contact(process, contact);
    });
  }
  size_t max_payload() const override { return max_message_ - sizeof(Prefix) - kFrameOverhead; }
  bool try_send(uint32_t process, uint64_t peer, const Header& header, const void* payload,
                size_t length) override;
  size_t least_lent() const override { return lends_ ? kLeastLent : SIZE_MAX; }
  LendResult try_lend(uint32_t process, uint64_t peer, const Header& header, const void* payload,
                      size_t length, void* lender) override;
  size_t most_unasked() const override {
    return fabric_.is_plain_sockets() ? kMostUnasked : max_payload();
  }
  MemoryReader* memory_reader() override { return this; }
  GrantedMemory* granted_memory() override { return this; }
  bool poll() override;
  bool arm() override;
  int64_t longest_sleep() const override {
    return starved_since_ || !callers_.empty() ? kRetry : INT64_MAX;
  }
  int wait_fd() const override { return wait_fd_; }
  OwnSleep* own_sleep() override { return this; }
  uint64_t refused() const override { return refused_ + lifelines_.strangers(); }
  bool tick() override;
  void close() override;

 private:
  /// Frames of 64 KiB, the most that pt2pt sends eagerly. A provider layered on ofi_rxm sends 16
  /// KiB at once and uses a rendezvous of its own for more.
  static constexpr size_t kMostMessage = (64 << 10) + sizeof(Prefix) + kFrameOverhead;
  static constexpr size_t kMostLayeredMessage = 16 << 10;
  /// At most this many messages to a peer are sent at once. Further ones are gathered until the
  /// next poll, or until the message is full. What is sent while a poll delivers, mostly answers,
  /// is gathered until that poll ends.
  static constexpr uint16_t kAtOnce = 4;

  /// Below this size, copying costs less than the completion of a lent payload.
  static constexpr size_t kLeastLent = 8 << 10;
  /// Over sockets a rendezvous takes a round trip, in which this much could have been sent.
  static constexpr size_t kMostUnasked = 256 << 10;

  /// How long after a refusal by the provider (which does not report when it has room) a
  /// retry is due.
  static constexpr int64_t kRetry = 100'000;
  /// While the transport is polled without sleeping, one poll in this many checks the lifelines.
  static constexpr uint32_t kPollsPerCheck = 64;
  /// How often a queue without a descriptor to wait on is polled (ns).
  static constexpr int64_t kCheckInterval = 2'000'000;

  // MemoryReader
  ReadResult read(uint32_t process, uint64_t peer, uint64_t remote, void* local, size_t length,
                  uint64_t cookie) override;
  // GrantedMemory
  uint64_t grant_access() override;
  void withdraw_access() override;
  std::string describe_access() const override;
  bool access_pays() const override { return !fabric_.is_plain_sockets() && !fabric_.is_layered(); }
  size_t most_atomic(Access::Kind kind, AtomicOp op, AtomicType type) const override;
  void access(uint64_t peer, const Access& what) override;
  // OwnSleep
  void sleep(int64_t timeout_ns) override;

  // On the host stack:
  bool poll_here();
  bool transmit_here(SendBuffer* buffer);
  void close_here();

  bool reads_wanted() const;
  Status make_buffers();
  void post_receive(ReceiveBuffer* buffer);
  void use_receives(size_t count);
  SendBuffer* start(uint32_t peer, NetworkMessageKind kind);
  ssize_t send_lent(SendBuffer* buffer);
  bool transmit(SendBuffer* buffer);
  void release(SendBuffer* buffer);
  bool flush();
  bool send_plain(uint32_t peer, NetworkMessageKind kind, const Hello* hello);
  LendResult send_frame(uint32_t peer, const Header& header, const void* payload, size_t length,
                        void* lender);
  bool greet(uint32_t peer);
  void hold_lifeline(uint32_t peer);
  bool find_contact(uint32_t process, liveness::Contact* contact);
  bool ready(uint32_t peer);
  void poll_lines();
  uint32_t index_of(uint32_t process) const;
  void answer_callers();
  void complete(Operation* operation, uint64_t flags, const void* bytes, size_t length);
  void complete_receive(ReceiveBuffer* buffer, uint64_t flags, const void* bytes, size_t length);
  void complete_failed();
  void received(const void* bytes, size_t length);
  void begin_moving(uint32_t index, const Access& what, bool accesses);
  ssize_t issue_piece(const OfiPeer& peer, const Access& what, size_t length,
                      PieceOperation* piece);
  void issue(Moving* moving);
  bool go_on_moving();
  bool endpoint_address(uint32_t peer, sockaddr_storage* address) const;
  void fail(uint32_t peer, const std::string& why);
  void report();

  Fabric fabric_;
  size_t max_message_ = 0;  ///< bytes of one message on the network; fixed by open()
  Sinks sinks_;
  std::unique_ptr<Gate> gate_;
  liveness::Lifelines lifelines_;
  LifelineKey key_{};
  uint64_t token_ = 0;
  uint32_t me_ = 0;               ///< this process's number
  std::string own_address_;       ///< the endpoint's, as published
  int wait_fd_ = -1;              ///< of the queue and the lifelines together
  uint32_t polls_ = 0;            ///< so far
  Bytes memory_;                  ///< the memory of all buffers
  fid_mr* registered_ = nullptr;  ///< that memory, where the provider needs it registered
  void* descriptor_ = nullptr;
  std::vector<SendBuffer> sends_;
  SendBuffer* free_sends_ = nullptr;
  size_t sends_in_flight_ = 0;
  SendBuffer* gathering_ = nullptr;  ///< frames to one peer that will be sent together
  /// The time (ns) at which a try_send was refused; 0: none since the last check.
  int64_t starved_since_ = 0;
  std::vector<ReceiveBuffer> receives_;
  size_t receives_used_ = 0;  ///< receive buffers that have been posted at least once
  size_t receive_bytes_ = 0;  ///< of one buffer
  bool unposted_ = false;     ///< a receive buffer waits until the provider accepts it
  std::vector<OfiPeer> peers_;
  std::vector<std::string> hosts_;  ///< names, each once
  std::vector<uint32_t> callers_;   ///< indices of peers whose lifeline is to be answered
  std::vector<std::unique_ptr<Moving>> movings_;
  fid_mr* granted_ = nullptr;  ///< all memory of this process, for access() of peers
  uint32_t grants_ = 0;
  bool slept_ = false;       ///< arm() has returned true since the last poll()
  bool delivering_ = false;  ///< in poll(), which flushes before it ends
  std::vector<std::pair<uint32_t, std::string>> failures_;
  uint64_t refused_ = 0;
  uint64_t completed_ = 0;  ///< reads of the completion queue that were not empty
  bool reads_allowed_ = true;
  /// The provider sends from anywhere in memory, from two places at a time.
  bool lends_ = false;
  bool closing_ = false;
};

}  // namespace fgmpi::transport::ofi
