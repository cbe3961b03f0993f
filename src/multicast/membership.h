// Membership: a group in which this process takes part: the protocol's state machine (group.h), the
// socket that is joined to the group's address, and the addresses of the other members.
//
// Thread rule: one thread. Nothing here switches. Service owns the objects; code that has joined a
// group has a pointer to one.
#pragma once

#include <cstdint>
#include <vector>

#include "multicast/group.h"
#include "multicast/sockets.h"

namespace fgmpi::multicast {

/// Equal at all members of a group, except `me` and the seed of the options.
struct GroupSpec {
  uint64_t id = 0;
  GroupKey key{};
  MulticastAddress address;
  TransferOptions options;
  uint32_t me = 0;
  std::vector<MulticastAddress> members;  ///< their own sockets
  std::vector<uint32_t> processes;  ///< the members' numbers in the job; may be empty: unknown
};

class Membership final : private DatagramWire {
 public:
  /// `outbox` and `interface` outlive the object. The constructor joins nothing.
  Membership(const GroupSpec& spec, unsigned interface, Outbox* outbox);

  TransferGroup group;
  const GroupKey key;
  const std::vector<uint32_t> processes;
  Socket socket;             ///< joined to the group's address; empty: outside
  MulticastAddress address;  ///< of the group
  uint64_t last_use = 0;     ///< Service counts uses: the least recently used group is left first
  int64_t next_time = kNever;
  /// Datagrams at the group's address that no member has sent, since the group last moved.
  uint32_t strangers = 0;
  uint32_t moves = 0;
  bool never_joins = false;  ///< the member does not join the address again
  /// A membership that is being left exists until what it has sent is delivered and, for a limited
  /// time, until it has passed on the acknowledgements of members below it in the tree.
  bool leaving = false;
  int64_t cached_until = 0;

  /// A probe of the group's address, at the member that asks: sent repeatedly, until all others
  /// have answered or the time is over. Then done(this, all have answered) is called.
  struct Probe {
    void (*done)(Membership*, bool all) = nullptr;  ///< nullptr: no probe is under way
    std::vector<bool> heard;
    uint32_t missing = 0, round = 0;
    int64_t at = kNever;  ///< when the next one is sent
  } probe;
  void record_heard(uint32_t member);
  /// Transfers that no receive was waiting for when they became known: the arguments of the
  /// receiver itself may be wrong.
  struct UnexpectedTransfer {
    uint32_t root;
    Match match;
  };
  std::vector<UnexpectedTransfer> unexpected_transfers;

  void move_to(const MulticastAddress& place);
  void send_probe();
  void answer_probe(uint32_t member, uint32_t position);
  bool is_used() const { return !group.quiet() || !group.delivered(); }

 private:
  void to_all(const DatagramHeader& header, const void* payload, size_t length) override;
  void to_member(uint32_t member, const DatagramHeader& header, const void* payload,
                 size_t length) override;
  void to_member_later(uint32_t member, const DatagramHeader& header) override;
  void unexpected(uint32_t root, const Match& match) override;

  const unsigned interface_;
  Outbox* const outbox_;
  SocketAddress all_;
  std::vector<SocketAddress> members_;
};

}  // namespace fgmpi::multicast
