// Group: reliable multicast among a fixed list of members, each of which may be the root of
// transfers. Without sockets and clocks: datagrams come in by take(), leave by a Wire, and the time
// is an argument. Unit tests run it over a simulated network.
//
// Every transfer goes to all members. It is found at a member by its root and a Match; transfers of
// a root with the same Match are taken in the order in which the root sends them. Different ones
// may be taken in any order: none waits for another one's receive, since long transfers wait at the
// root until their receives have been posted, and the bytes of short ones that members keep are
// limited by a quota, beyond which they wait too.
//
//   root                          member                                   member below it
//    | kPoll (long ones) ---------->|  all: by multicast ------------------>|
//    |<-------------- kAck posted --|<--------------------- kAck posted ----|      gathered along a tree
//    | kData 0, 1, 2, ... --------->| ------------------------------------->|
//    |<-- kNack: 1 misses ----------|                                       |      straight to the root
//    | kData 1, to it alone ------->|                                       |
//    |<------------------ kAck 3 ---|<------------------------- kAck 3 -----|
//
// Thread rule: one thread. Nothing here switches; completions end inside of send(), receive(),
// take(), give_up(). Invariants: memory is bounded by the transfers that are open plus the quota of
// each root.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "transport/multicast/incoming.h"
#include "transport/multicast/outgoing.h"

namespace fgmpi::transport::multicast {

class Group {
 public:
  /// REQUIRES: me < members <= 65535.
  Group(uint64_t id, uint32_t members, uint32_t me, const Options& options, Wire* wire)
      : context_(id, members, me, options, wire), sources_(members) {}

  /// Sends `bytes` to all other members. `data` must stay as it is until `completion` ends: when
  /// all members have it, or at once where the bytes were copied. REQUIRES: bytes < kMostPackets *
  /// payload.
  void send(const Match& match, const char* data, size_t bytes, Completion* completion,
            int64_t now);
  /// Receives what `root` sends. REQUIRES: root is another member.
  void receive(uint32_t root, const Match& match, char* data, size_t bytes, Completion* completion,
               int64_t now);
  /// Ends (kAnnounced) when the transfer is known that such a receive would take, with its length:
  /// receive() then takes that one. REQUIRES: nothing else receives or expects with this match
  /// meanwhile.
  void expect(uint32_t root, const Match& match, Completion* completion);
  /// A datagram with a good tag and this group's id. Refused and counted when it makes no sense.
  void take(const Header& h, const char* payload, size_t length, int64_t now);
  /// Does what is due; to be called at next_time() (ns; kNever: nothing is).
  void on_time(int64_t now);
  int64_t next_time() const;

  /// Ends all transfers and receives with this ctx whose tag is equal in the bits that are not in
  /// `mask`, and drops what has come of such transfers.
  void give_up(uint64_t ctx, int32_t tag, int32_t mask, int64_t now);

  /// Nothing is on its way that needs no new receive to arrive: what is not quiet must be polled.
  bool quiet() const;
  /// All that this member has sent has arrived at all members.
  bool delivered() const;
  /// Nobody waits for acknowledgements of this member about what others have sent.
  bool acknowledged() const;
  /// What this member sends goes to another one by unicast, too, until that one says that it has
  /// joined the group's address.
  void doubt(uint32_t member) { context_.set_outside(member, true); }
  /// For a group that is just being made, whose other members are still to join: all of them are in
  /// doubt, and what this member sends is announced to them, whatever its length, until one
  /// transfer has been taken by all.
  void expect_joins();
  /// This member receives what is sent to the group's address (true at first).
  void set_joined(bool joined) { context_.joined = joined; }

  uint64_t id() const { return context_.id; }
  uint32_t members() const { return context_.members; }
  uint32_t me() const { return context_.me; }
  const Options& options() const { return context_.options; }
  const Counts& counts() const { return context_.counts; }

 private:
  static constexpr size_t kExpected = SIZE_MAX;  ///< in place of a length: expect()
  struct Posted {
    Match match;
    char* data;
    size_t bytes;
    Completion* completion;
  };
  /// What comes from one root.
  struct Source {
    uint64_t floor = 1;     ///< transfers below this one are over at all members
    uint64_t frontier = 1;  ///< all transfers below this one are known here
    std::map<uint64_t, Incoming> open;
    std::list<Posted> posted;
  };

  static void give(Incoming* in, const Posted& posted);
  bool is_possible(const Header& h, size_t length) const;
  void take_as_root(const Header& h, const char* payload, size_t length, int64_t now);
  Incoming* find_or_add(const Header& h);
  void raise_floor(Source* source, uint64_t floor);
  void advance_frontier(Source* source);
  void drop_closed();
  size_t quota_used() const;

  Context context_;
  std::vector<Source> sources_;
  std::map<uint64_t, Outgoing> outgoing_;
  uint64_t next_serial_ = 1;
  bool expects_joins_ = false;
};

/// The answer of a member that has forgotten the group to a poll or packet that asks: it has taken
/// everything.
Header answer_for_forgotten(const Header& asked, uint32_t me);

}  // namespace fgmpi::transport::multicast
