// Multicast groups of communicators: which communicators have one, and how its members agree on it.
//
// A group belongs to a set of processes: all communicators that have members in exactly these use
// the same group. It is made when one of them needs it for the first time, and closed when the last
// one is freed. Where fewer hosts take part than FGMPI_MULTICAST demands, none of this happens: no
// message, no socket.
//
// Processes agree by notices (pt2pt), which are handled while they poll. No collective takes part
// in the agreement as such: the first collective of a communicator at a process makes the process's
// offer and waits for the verdict. Another collective that comes meanwhile waits with it.
//
//   member                        member 0 (the process with the least number)
//    | kOffer: my socket, MTU ----->|   all offers have come, and a collective here wants the group
//    |<----- kForm: id, key, -------|   only for a set of processes that has none yet
//    |       address, sockets       |
//    | kJoined -------------------->|
//    |<..... probes by multicast ...|   answered by unicast
//    |<----- kVerdict --------------|   the group, or none: then collectives use ordinary messages
//    |<----- kClose ----------------|   no communicator uses it any more at member 0
//    | kCollision ----------------->|   strangers send to the group's address
//    |<----- kMove: new address ----|   what is lost meanwhile is sent again
//
// Thread rule: one thread. Notices are handled inside poll: nothing switches there.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "comm/comm.h"
#include "multicast/service.h"

namespace fgmpi::coll {

class Team;

/// Registers the handlers. Idempotent.
void init_multicast_groups();

/// The least number of hosts on which members of a team may use multicast; 0: no team may.
uint32_t least_hosts_of_multicast();
/// The number of hosts that the processes of a team are on. REQUIRES: the team was made from
/// a communicator.
uint32_t hosts_of(const Team& team);

/// Finds the group of a team's communicator; processes agree on it if need be. *out is nullptr
/// where there is none, which is then so at all members. May switch. An error means that the
/// collective has failed meanwhile.
Status group_of(const Team& team, multicast::Membership** out);

/// What some members of a team (given by their team ranks) need to form another group, without its
/// id, key and address. Returns false where they are not in the team's group, or this process is
/// not among them. REQUIRES: group_of(team) has returned a group.
bool spec_of_subgroup(const Team& team, const std::vector<uint32_t>& members,
                      multicast::GroupSpec* out);

/// Drops this process's use of a group, when it has dropped its part of the communicator.
void forget_multicast_group(comm::ContextId id);
/// Ends this collective's transfers with an error, and its waits for a verdict.
void cancel_multicast(uint64_t ctx, int32_t tag, int32_t mask);

}  // namespace fgmpi::coll
