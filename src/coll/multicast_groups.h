// Groups of the multicast for communicators: who has one, how its members agree on it.
//
// A group belongs to a set of processes; all communicators that have members in exactly these use
// the same one. It is made when one of them is to be used for the first time, and given back when
// the last one is freed. Where fewer hosts take part than FGMPI_MULTICAST asks for, nothing of this
// happens: no message, no socket.
//
// The agreement is made of notices (pt2pt), which are handled while processes poll. No collective
// takes part in it as such: whichever collective of a communicator comes first at a process, it
// makes its process's offer and waits for the verdict, and another one that comes meanwhile waits
// with it.
//
//   member                         member 0 (the process with the least number)
//    | kOffer: my socket, MTU ------>|     all offers are there, and a collective here wants the group
//    |<----- kForm: id, key, address, members' sockets         (only for a set of processes that has none yet)
//    | kJoined --------------------->|
//    |<..... probes by multicast ....|     answered by unicast
//    |<----- kVerdict: the group, or none                      then collectives use it, or ordinary messages
//    |<----- kClose -----------------|     no communicator uses it any more at member 0
//    | kCollision ------------------>|     strangers send to the group's address
//    |<----- kMove: a new address ---|     what is lost meanwhile is sent again
//
// Thread rule: one thread. Notices are handled inside poll: nothing switches there.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "comm/comm.h"
#include "transport/multicast/service.h"

namespace fgmpi::coll {

class Team;

/// Registers the handlers. Idempotent.
void init_multicast_groups();

/// Members of a team on so many hosts or more may use multicast; 0: nobody may.
uint32_t least_hosts_of_multicast();
/// How many hosts the processes of a team are on. REQUIRES: made from a communicator.
uint32_t hosts_of(const Team& team);

/// The group of a team's communicator, agreed on if need be; *out is nullptr where there is none,
/// which then is so at all members alike. May switch. An error: the collective has failed
/// meanwhile.
Status group_of(const Team& team, transport::multicast::Membership** out);

/// What members of a team (some of them, by their team ranks) need to form another group: all but
/// its id, key and address. False where they are not of the team's group, or this process is not
/// among them. REQUIRES: group_of(team) gave one.
bool spec_of_subgroup(const Team& team, const std::vector<uint32_t>& members,
                      transport::multicast::GroupSpec* out);

/// This process has dropped its part of a communicator.
void forget_multicast_group(comm::ContextId id);
/// Those that wait for a verdict in this collective, and its transfers, end with an error.
void give_up_multicast(uint64_t ctx, int32_t tag, int32_t mask);

}  // namespace fgmpi::coll
