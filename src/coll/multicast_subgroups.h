// Subgroups: some members of a communicator's multicast group, for data that only they are to get.
//
//   dynamic   made for one call: its root tells all members by the communicator's group who is in
//             it, and its address; those who are in it join, the others are done
//   kept      the same, but it stays for the root's next calls with the same members: those of an
//             opened group (fgmpi.h: MPIX_Scatterv_open_group) or of a persistent collective. The
//             root says when it is given back, by one of its next announcements, or by a notice
//             when its last opened group is closed; what is left goes with the communicator.
//
// FGMPI_MULTICAST_GROUPS picks less: `dynamic` keeps none, `static` makes none.
//
// An announcement travels in front of the data, or in place of it:
//
//   | how u64 | id u64 | key 16 | address 20 | moves u32 | dropped id u64 |
//
// All announcements of a group say everything about it, since calls that are under way at the same
// time are taken in any order. A root gives back none that one of its calls still uses: when that
// is over, all members have taken its data.
//
// A kept one to whose address strangers send moves to another one. The member that sees them tells
// the root, which draws an address and tells all members by notices; its announcements have that
// address from then on. Both have the number of moves so far, so that whoever takes an old
// announcement late does not go back. What is sent while only some have moved is sent again.
//
//   member                         root
//    | kCollision: moves so far --->|     nothing happens if it has moved since: another member was first
//    |<----- kMove: address, moves -|     to all members; one that has yet to enter remembers it
//
// A member of one that was made for one call leaves its address for good when it sees strangers
// there, and gets the data by unicast.
//
// The first data waits at the root until all members have joined, since they are asked by unicast
// at first. Thread rule: one thread. Nothing here switches but recv_apart().
#pragma once

#include <cstdint>
#include <vector>

#include "coll/multicast.h"

namespace fgmpi::coll {

/// The group management of the job.
enum class Scheme : uint8_t { kOpened, kDynamic, kStatic };
Scheme scheme();

struct SubgroupTicket {
  enum How : uint64_t { kNone = 0, kOnce, kKept };
  uint64_t how = kNone;
  uint64_t id = 0;
  transport::multicast::Key key{};
  transport::multicast::Place address;
  uint32_t moves = 0;    ///< of a kept one, so far
  uint64_t dropped = 0;  ///< a kept one that is given back; 0: none
};
static_assert(sizeof(SubgroupTicket) == 64);

/// At most so many of a root are kept with a communicator.
inline constexpr size_t kMostKeptSubgroups = 8;

/// At the root: a subgroup of these members of the team (ascending team ranks, the root among
/// them); with `keep` one that it has kept, or a new one that it keeps, unless it keeps
/// kMostKeptSubgroups that are all in use.
SubgroupTicket announce_subgroup(const Team& team, const std::vector<uint32_t>& members, bool keep);

/// The membership that a ticket is about, at one of the members; joined where it is new. It is in
/// use until leave_subgroup(). nullptr: the ticket makes no sense. `root`: who announced it.
transport::multicast::Membership* enter_subgroup(const Team& team, uint32_t root,
                                                 const std::vector<uint32_t>& members,
                                                 const SubgroupTicket& ticket);
/// Every process of the team, once it has a ticket: gives back what the root does not use any more.
void drop_subgroup(const Team& team, uint32_t root, const SubgroupTicket& ticket);
/// Of a process that has blocks of these sizes for the processes of the team: itself, and those
/// that get something.
std::vector<uint32_t> takers(const std::vector<uint64_t>& sizes, uint32_t root);
/// At a taker: the blocks, `bytes` in all, that the root sends to the subgroup of a ticket as its
/// step 1. May switch.
Status recv_apart(const Team& team, uint32_t root, const std::vector<uint64_t>& sizes,
                  const SubgroupTicket& ticket, size_t bytes, Memory* out);
/// The call is over: one that was made for it is given back.
void leave_subgroup(const Team& team, const SubgroupTicket& ticket,
                    transport::multicast::Membership* membership);

/// This process's opened groups of a communicator are closed: gives back what it has kept and does
/// not use. Each member follows as soon as it is through with all calls that used it.
void give_back_subgroups(comm::ContextId id);

/// A notice about the subgroup `id`; its kinds are beside those of multicast_groups.cc.
struct SubgroupNotice {
  enum Kind : uint32_t { kGivenBack = 8, kCollision, kMove };
  uint32_t kind = kGivenBack;
  uint32_t moves = 0;  ///< so far: kCollision, kMove
  uint64_t id = 0;
  uint64_t calls = 0;                   ///< that have used it: kGivenBack
  transport::multicast::Place address;  ///< kMove
  uint32_t zero = 0;
};
static_assert(sizeof(SubgroupNotice) == 48);
void on_subgroup_notice(uint32_t from, uint64_t ctx, const SubgroupNotice& notice);
/// Strangers send to the address of a group that is no communicator's: the root of a kept one is
/// told, another one's address is left.
void on_subgroup_collision(transport::multicast::Membership* membership);

/// This process has dropped its part of a communicator.
void forget_subgroups(comm::ContextId id);

}  // namespace fgmpi::coll
