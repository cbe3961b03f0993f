// Subgroups: some members of a communicator's multicast group, for data that only they must get.
//
//   dynamic   made for one call. The root announces its members and its address to all members of
//             the communicator's group; members of the subgroup join it, the others do nothing
//   kept      made in the same way, but it stays for the root's next calls with the same members:
//             those of an opened group (fgmpi.h: MPIX_Scatterv_open_group) or of a persistent
//             collective. The root ends it by one of its next announcements, or by a notice when
//             its last opened group is closed. Others end with the communicator
//
// FGMPI_MULTICAST_GROUPS limits this: `dynamic` keeps no subgroups, `static` makes none.
//
// An announcement travels in front of the data, or in place of it:
//
//   | how u64 | id u64 | key 16 | address 20 | moves u32 | dropped id u64 |
//
// Every announcement of a group contains all about it, since calls that are under way at the same
// time may be received in any order. A root ends no subgroup that one of its calls still uses: when
// that call is over, all members have received its data.
//
// A kept subgroup to whose address strangers send moves to another address. The member that
// receives their packets informs the root, which draws an address and informs all members by
// notices; the root's announcements have that address from then on. Both carry the number of moves
// so far, so that a member that receives an old announcement late does not go back. Data that is
// sent while only some members have moved is sent again.
//
//   member                        root
//    | kCollision: moves so far --->|   ignored if the group has moved since (another was first)
//    |<---- kMove: address, moves --|   to all members; one that has yet to enter stores it
//
// A member of a subgroup that was made for one call leaves its address for good when it receives
// strangers' packets there, and gets the data by unicast.
//
// The first data waits at the root until all members have joined, since they are asked by unicast
// at first. Thread rule: one thread. Nothing here switches but recv_apart().
#pragma once

#include <cstdint>
#include <vector>

#include "multicast/multicast.h"

namespace fgmpi::multicast {

/// How many subgroups the job makes: for opened groups, for every call, or none.
enum class Scheme : uint8_t { kOpened, kDynamic, kStatic };
Scheme scheme();

struct SubgroupTicket {
  enum How : uint64_t { kNone = 0, kOnce, kKept };
  uint64_t how = kNone;
  uint64_t id = 0;
  GroupKey key{};
  MulticastAddress address;
  uint32_t moves = 0;    ///< of a kept subgroup: number of moves so far
  uint64_t dropped = 0;  ///< id of a kept subgroup that the root ends; 0: none
};
static_assert(sizeof(SubgroupTicket) == 64);

/// The most subgroups of a root that are kept with a communicator.
inline constexpr size_t kMostCachedSubgroups = 8;

/// Makes a subgroup of these members of the team at its root (ascending team ranks, the root among
/// them). With `keep` it is one that the root has kept, or a new one that it keeps, unless it has
/// kMostCachedSubgroups that are all in use.
SubgroupTicket announce_subgroup(const MulticastCaller& caller,
                                 const std::vector<uint32_t>& members, bool keep);

/// The membership that a ticket names, at one of the members, which joins a new one. The membership
/// is in use until leave_subgroup(). nullptr: the ticket is invalid. `root`: the process that
/// announced it.
Membership* enter_subgroup(const MulticastCaller& caller, uint32_t root,
                           const std::vector<uint32_t>& members, const SubgroupTicket& ticket);
/// Called at every process of the team once it has a ticket: leaves the subgroup that the root
/// has ended.
void drop_subgroup(const MulticastCaller& caller, uint32_t root, const SubgroupTicket& ticket);
/// The processes that get something from a process that has blocks of these sizes for the processes
/// of the team, and that process itself.
std::vector<uint32_t> takers(const std::vector<uint64_t>& sizes, uint32_t root);
/// Receives, at a member of a ticket's subgroup, the blocks (`bytes` in all) that the root sends to
/// the subgroup as its step 1. May switch.
Status recv_apart(const Multicast& multicast, uint32_t root, const std::vector<uint64_t>& sizes,
                  const SubgroupTicket& ticket, char* out, size_t bytes);
/// Called when the call is over: leaves a subgroup that was made for it.
void leave_subgroup(const MulticastCaller& caller, const SubgroupTicket& ticket,
                    Membership* membership);

/// Called when this process has closed its opened groups of a communicator: ends the subgroups that
/// it has kept and does not use. Each member follows when all calls that used them are over.
void release_subgroups(comm::ContextId id);

/// A notice about the subgroup `id`; its kinds are beside those of comm_groups.cc.
struct SubgroupNotice {
  enum Kind : uint32_t { kReleased = 8, kCollision, kMove };
  uint32_t kind = kReleased;
  uint32_t moves = 0;  ///< kCollision, kMove: number of moves so far
  uint64_t id = 0;
  uint64_t calls = 0;        ///< kReleased: number of calls that have used it
  MulticastAddress address;  ///< kMove
  uint32_t zero = 0;
};
static_assert(sizeof(SubgroupNotice) == 48);
void on_subgroup_notice(uint32_t from, uint64_t ctx, const SubgroupNotice& notice);
/// Handles strangers that send to the address of a subgroup. The root of a kept one is informed;
/// the address of another one is left.
void on_subgroup_collision(Membership* membership);

/// Drops the subgroups of a communicator, when this process has dropped its part of it.
void forget_subgroups(comm::ContextId id);

}  // namespace fgmpi::multicast
