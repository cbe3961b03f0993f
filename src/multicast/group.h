// TransferGroup: reliable multicast among a fixed list of members, each of which may be the root of
// transfers. It has neither sockets nor clocks: datagrams enter by receive_datagram() and leave by
// a DatagramWire, and the time is an argument. Unit tests run it over a simulated network.
//
// Every transfer goes to all members. A member finds it by its root and a Match. Transfers of a
// root with equal Matches are matched in the order in which the root sends them. Different ones may
// be matched in any order: none waits for the receive of another. Long transfers wait at the root
// until their receives have been posted. Of short ones, members store bytes up to a quota, beyond
// which these transfers wait, too.
//
//   root                         member                              member below it
//    | kPoll (long ones) --------->|  to all, by multicast ------------>|
//    |<------------- kAck posted --|<--------------- kAck posted -------|  gathered along a tree
//    | kData 0, 1, 2, ... -------->| ---------------------------------->|
//    |<-- kNack: 1 is missing -----|                                    |  straight to the root
//    | kData 1, to it alone ------>|                                    |
//    |<----------------- kAck 3 ---|<-------------------- kAck 3 -------|
//
// Thread rule: one thread. Nothing here switches; completions end inside of send(), receive(),
// receive_datagram(), give_up(). Invariants: memory is bounded by the transfers that are open plus
// the quota of each root.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "multicast/incoming.h"
#include "multicast/outgoing.h"

namespace fgmpi::multicast {

class TransferGroup {
 public:
  /// REQUIRES: me < members <= 65535.
  TransferGroup(uint64_t id, uint32_t members, uint32_t me, const TransferOptions& options,
                DatagramWire* wire)
      : context_(id, members, me, options, wire), sources_(members) {}

  /// Sends `bytes` to all other members. `data` must not change until `completion` ends: when
  /// all members have it, or at once where the bytes were copied. REQUIRES: bytes <
  /// kMostPackets * payload.
  void send(const Match& match, const char* data, size_t bytes, TransferCompletion* completion,
            int64_t now);
  /// Receives a transfer of `root`. REQUIRES: root is another member.
  void receive(uint32_t root, const Match& match, char* data, size_t bytes,
               TransferCompletion* completion, int64_t now);
  /// Ends (kAnnounced) when the transfer that such a receive would match is known, with its
  /// length; receive() then matches that one. REQUIRES: nothing else receives or expects with this
  /// match meanwhile.
  void expect(uint32_t root, const Match& match, TransferCompletion* completion);
  /// Handles a datagram with a valid tag and this group's id. An impossible one is refused
  /// and counted.
  void receive_datagram(const DatagramHeader& h, const char* payload, size_t length, int64_t now);
  /// Does what is due. To be called at next_time() (ns; kNever: nothing is due).
  void on_time(int64_t now);
  int64_t next_time() const;

  /// Ends all transfers and receives with this ctx whose tag equals `tag` outside of the bits of
  /// `mask`, and drops what has arrived of such transfers.
  void give_up(uint64_t ctx, int32_t tag, int32_t mask, int64_t now);

  /// True when nothing is under way that could arrive without a new receive. A group that is not
  /// quiet must be polled.
  bool quiet() const;
  /// True when all that this member has sent has arrived at all members.
  bool delivered() const;
  /// True when no member waits for acknowledgements of this member about what others have sent.
  bool acknowledged() const;
  /// From now on, what this member sends goes to `member` by unicast, too, until that member
  /// reports that it has joined the group's address.
  void doubt(uint32_t member) { context_.set_outside(member, true); }
  /// For a group that is being made, whose other members have yet to join: all of them are in
  /// doubt, and each transfer of this member is announced to them, whatever its length, until all
  /// members have matched one transfer.
  void expect_joins();
  /// Sets whether this member receives what is sent to the group's address (true at first).
  void set_joined(bool joined) { context_.joined = joined; }

  uint64_t id() const { return context_.id; }
  uint32_t members() const { return context_.members; }
  uint32_t me() const { return context_.me; }
  const TransferOptions& options() const { return context_.options; }
  const TransferCounts& counts() const { return context_.counts; }

 private:
  static constexpr size_t kExpected = SIZE_MAX;  ///< replaces a length in expect()
  struct PostedTransfer {
    Match match;
    char* data;
    size_t bytes;
    TransferCompletion* completion;
  };
  /// The transfers of one root.
  struct RootTransfers {
    uint64_t floor = 1;     ///< transfers below this one are over at all members
    uint64_t frontier = 1;  ///< all transfers below this one are known here
    std::map<uint64_t, Incoming> open;
    std::list<PostedTransfer> posted;
  };

  static void give(Incoming* in, const PostedTransfer& posted);
  bool is_possible(const DatagramHeader& h, size_t length) const;
  void receive_as_root(const DatagramHeader& h, const char* payload, size_t length, int64_t now);
  Incoming* find_or_add(const DatagramHeader& h);
  void raise_floor(RootTransfers* source, uint64_t floor);
  void advance_frontier(RootTransfers* source);
  void drop_closed();
  size_t quota_used() const;

  Context context_;
  std::vector<RootTransfers> sources_;
  std::map<uint64_t, Outgoing> outgoing_;
  uint64_t next_serial_ = 1;
  bool expects_joins_ = false;
};

/// The answer of a member that has forgotten the group to a poll or packet that asks: it has taken
/// everything.
DatagramHeader answer_for_forgotten(const DatagramHeader& asked, uint32_t me);

}  // namespace fgmpi::multicast
