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
#include "multicast/caller.h"
#include "multicast/service.h"

namespace fgmpi::multicast {

/// Registers the handlers. Idempotent.
void init_groups();
/// Sets the function that is called, within a poll(), for a transfer of another process's that no
/// receive waits for yet: it compares the signatures. It must not switch.
void set_unexpected_handler(void (*handler)(uint64_t ctx, int32_t tag, pt2pt::Signature signature,
                                            uint32_t process));

/// The least number of hosts on which the processes of a collective may use multicast; 0: none may.
uint32_t least_hosts();

/// Finds the group of a collective's communicator; processes agree on it if need be. *out is
/// nullptr where there is none, which is then so at all members. May switch. An error means that
/// the collective has failed meanwhile.
Status group_of(const MulticastCaller& caller, Membership** out);

/// What some processes of a collective (given by their team ranks) need to form another group,
/// without its id, key and address. Returns false where they are not in the communicator's group,
/// or this process is not among them. REQUIRES: group_of(caller) has returned a group.
bool spec_of_subgroup(const MulticastCaller& caller, const std::vector<uint32_t>& members,
                      GroupSpec* out);

/// Drops this process's use of a group, when it has dropped its part of the communicator.
void forget_comm(comm::ContextId id);
/// Ends this collective's transfers with an error, and its waits for a verdict.
void cancel_transfers(uint64_t ctx, int32_t tag, int32_t mask);

}  // namespace fgmpi::multicast
