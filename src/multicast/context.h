// What the transfers of a group share: its members, the way out, and the numbers of the protocol.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "multicast/datagram.h"
#include "multicast/macroflow.h"
#include "multicast/tree.h"

namespace fgmpi::multicast {

/// What a receive finds its transfer by, and what both ends must have passed alike.
struct Match {
  uint64_t ctx = 0;
  int32_t tag = 0;
  uint32_t signature = 0;  ///< of the root and the counts
  uint32_t types = 0;      ///< of the data's types; 0: unknown, which agrees with all others
  uint16_t step = 0;
  bool operator==(const Match&) const = default;
  /// True for the same step of the same collective.
  bool finds(const Match& other) const {
    return ctx == other.ctx && tag == other.tag && step == other.step;
  }
  bool agrees(const Match& other) const {
    return signature == other.signature && (types == other.types || types == 0 || other.types == 0);
  }
};

/// Sends datagrams. A datagram may be lost, doubled, late, or overtaken. The payload is copied
/// before these functions return.
class DatagramWire {
 public:
  virtual ~DatagramWire() = default;
  virtual void to_all(const DatagramHeader& header, const void* payload, size_t length) = 0;
  virtual void to_member(uint32_t member, const DatagramHeader& header, const void* payload,
                         size_t length) = 0;
  /// Sends an acknowledgement that nothing waits for. It may leave later, and not at all when a
  /// newer one of the same transfer leaves.
  virtual void to_member_later(uint32_t member, const DatagramHeader& header) {
    to_member(member, header, nullptr, 0);
  }
  /// Called when a transfer of member `root` has become known that no receive waits for yet.
  virtual void unexpected(uint32_t /*root*/, const Match&) {}
};

/// All values but the seed and the last one must be the same at all members.
struct TransferOptions {
  size_t payload = 1400;      ///< bytes of a packet of a transfer
  uint32_t bundle = 1;        ///< most packets of a datagram, where few are lost
  uint32_t degree = 16;       ///< of the tree of acknowledgements; 0: all go to the root
  uint32_t most_window = 64;  ///< most packets of a transfer under way
  size_t eager = 64 << 10;    ///< longer transfers wait until all members have posted receives
  /// Bytes of a root's transfers that members store before they have posted receives.
  size_t eager_quota = 256 << 10;
  uint64_t seed = 1;                  ///< of the random delays of negative acknowledgements
  uint32_t most_bundled_window = 64;  ///< most packets under way where they are sent in bundles
  Macroflow* flow = nullptr;          ///< outlives the group; nullptr: the group makes its own
};

/// Counts of events, for counters and tests.
struct TransferCounts {
  uint64_t data = 0;     ///< packets sent for the first time
  uint64_t bundles = 0;  ///< datagrams with several packets
  uint64_t repairs = 0;  ///< packets sent again, to all or to one member
  uint64_t repairs_to_all = 0;
  uint64_t polls = 0;
  uint64_t acks = 0;      ///< sent
  uint64_t nacks = 0;     ///< sent
  uint64_t acks_got = 0;  ///< received by a root
  uint64_t refused = 0;   ///< datagrams that cannot belong to this group
};

inline constexpr int64_t kNever = INT64_MAX;

/// The header of a datagram about a transfer of `root`.
inline DatagramHeader header_of(DatagramKind kind, uint64_t serial, uint64_t total,
                                const Match& match, uint32_t root) {
  DatagramHeader h;
  h.serial = serial;
  h.total = total;
  h.ctx = match.ctx;
  h.coll_tag = match.tag;
  h.signature = match.signature;
  h.types = match.types;
  h.step = match.step;
  h.root = static_cast<uint16_t>(root);
  h.kind = kind;
  return h;
}
inline Match match_of(const DatagramHeader& h) {
  return {h.ctx, h.coll_tag, h.signature, h.types, h.step};
}

/// The end of a transfer at its root, or of a receive.
struct TransferCompletion {
  enum class TransferOutcome : uint8_t {
    kPending,
    kDone,
    kOtherLength,     ///< the transfer has `bytes` bytes, the receive has room for another number
    kOtherArguments,  ///< the transfer has another signature, or other types
    kGivenUp,         ///< give_up()
    kAnnounced,       ///< expect(): the transfer is known and has `bytes` bytes
  };
  TransferOutcome outcome = TransferOutcome::kPending;
  uint64_t bytes = 0;
  void (*finish)(TransferCompletion*) = nullptr;  ///< called once, at the end; must not switch
  void* owner = nullptr;

  void end(TransferOutcome how) {
    outcome = how;
    if (finish) finish(this);
  }
};

struct Context {
  Context(uint64_t id_, uint32_t members_, uint32_t me_, const TransferOptions& o, DatagramWire* w)
      : id(id_),
        members(members_),
        me(me_),
        options(o),
        wire(w),
        flow(o.flow ? o.flow : &own_flow_),
        outside(members_),
        random(o.seed),
        trouble(members_) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  AckTree tree(uint32_t root) const { return {members, options.degree, root}; }
  uint32_t packets_of(uint64_t total) const {
    return total == 0 ? 1 : static_cast<uint32_t>((total + options.payload - 1) / options.payload);
  }
  /// Sends to all members: by multicast, and one by one to those that have not joined.
  void to_all(DatagramHeader h, const void* payload, size_t length) {
    sign(&h);
    wire->to_all(h, payload, length);
    if (outsiders == 0) return;
    for (uint32_t m = 0; m < members; ++m)
      if (outside[m] && m != me) wire->to_member(m, h, payload, length);
  }
  void to_member(uint32_t member, DatagramHeader h, const void* payload, size_t length) {
    sign(&h);
    wire->to_member(member, h, payload, length);
  }
  void to_member_later(uint32_t member, DatagramHeader h) {
    sign(&h);
    wire->to_member_later(member, h);
  }
  bool bundles() const { return options.bundle > 1 && flow->bundles(); }
  void set_outside(uint32_t member, bool is) {
    if (outside[member] == is) return;
    outside[member] = is;
    is ? ++outsiders : --outsiders;
  }

  const uint64_t id;
  const uint32_t members, me;
  const TransferOptions options;
  DatagramWire* const wire;
  Macroflow* const flow;
  bool joined = true;         ///< this member receives what is sent to the group's address
  std::vector<bool> outside;  ///< members that do not receive it
  uint32_t outsiders = 0;
  RandomSequence random;
  Trouble trouble;
  TransferCounts counts;

 private:
  Macroflow own_flow_;
  void sign(DatagramHeader* h) const {
    h->group = id;
    h->from = static_cast<uint16_t>(me);
  }
};

/// The limit of packets that a header can number (a TiB and more); longer transfers are not made.
inline constexpr uint64_t kMostPackets = uint64_t{1} << 30;

}  // namespace fgmpi::multicast
