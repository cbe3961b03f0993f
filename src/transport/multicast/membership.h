// Membership: a group as one process takes part in it: the protocol's state machine (group.h), the
// socket that is joined to the group's address, and where the other members are.
//
// Thread rule: one thread. Nothing here switches. Only Service uses it, and by pointer whoever has
// joined a group.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/multicast/group.h"
#include "transport/multicast/sockets.h"

namespace fgmpi::transport::multicast {

/// What all members of a group know alike, but for `me` and the seed of the options.
struct GroupSpec {
  uint64_t id = 0;
  Key key{};
  Place address;
  Options options;
  uint32_t me = 0;
  std::vector<Place> members;       ///< their own sockets
  std::vector<uint32_t> processes;  ///< the members' numbers in the job; may be empty: not known
};

class Membership final : private Wire {
 public:
  /// `outbox` and `interface` outlive it. Joins nothing yet.
  Membership(const GroupSpec& spec, unsigned interface, Outbox* outbox);

  Group group;
  const Key key;
  const std::vector<uint32_t> processes;
  Socket socket;          ///< joined to the group's address; none: outside
  Place address;          ///< of the group
  uint64_t last_use = 0;  ///< Service counts uses: the least recently used group is left first
  int64_t next_time = kNever;
  /// Datagrams at the group's address that no member has sent, since the last move.
  uint32_t strangers = 0;
  uint32_t moves = 0;
  bool stays_outside = false;  ///< it does not join the address again
  /// It is kept until what it has sent is delivered and, for a limited time, until it has passed on
  /// the acknowledgements of those below it in the tree.
  bool leaving = false;
  int64_t kept_until = 0;

  /// A probe of the group's address, at the member that asks: sent again and again, until all
  /// others have answered or time is up. Then done(this, all have answered) is called.
  struct Probe {
    void (*done)(Membership*, bool all) = nullptr;  ///< nullptr: none is under way
    std::vector<bool> heard;
    uint32_t missing = 0, round = 0;
    int64_t at = kNever;  ///< when the next one is sent
  } probe;
  void hear(uint32_t member);
  /// Transfers that no receive was waiting for when they became known, at first: the receiver's own
  /// arguments may be wrong.
  struct Unexpected {
    uint32_t root;
    Match match;
  };
  std::vector<Unexpected> unexpected_transfers;

  void move_to(const Place& place);
  void send_probe();
  void answer_probe(uint32_t member, uint32_t position);
  bool is_used() const { return !group.quiet() || !group.delivered(); }

 private:
  void to_all(const Header& header, const void* payload, size_t length) override;
  void to_member(uint32_t member, const Header& header, const void* payload,
                 size_t length) override;
  void to_member_later(uint32_t member, const Header& header) override;
  void unexpected(uint32_t root, const Match& match) override;

  const unsigned interface_;
  Outbox* const outbox_;
  SocketAddress all_;
  std::vector<SocketAddress> members_;
};

}  // namespace fgmpi::transport::multicast
