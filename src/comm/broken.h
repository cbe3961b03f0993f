// Broken communicators (mpiexec -ft): those that have lost a member, and those that were revoked.
//
// A communicator that breaks ends what is under way in it here: members that wait for others in a
// meeting, collectives between processes, agreements on a new communicator. From then on every
// collective of it fails as it begins, at the member that calls it, so nobody waits for a member
// that was told of the failure elsewhere. Point-to-point operations between the ranks that are left
// go on, unless the communicator is revoked (src/survivors/). Communicators without a lost member
// are not touched.
//
// What this costs while nothing is broken: nothing. A broken communicator has no meetings, and the
// branch that makes the first of them (meeting.cc) looks whether it may.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "comm/comm.h"

namespace fgmpi::comm {

/// Bits of SharedComm::broken.
enum Broken : uint8_t { kLostMember = 1, kRevoked = 2 };

/// The error of an operation on a broken communicator: MPIX_ERR_REVOKED if it is, else
/// MPIX_ERR_PROC_FAILED. Ok if it is not broken.
Status broken_status(const SharedComm& shared);
bool has_member_in(const RankMap& map, uint32_t process);
/// Has one of its groups lost a member? Of a system-ranked communicator whose members this process
/// does not know: has any process been lost?
bool has_lost_member(const SharedComm& shared);

/// The error of a group, or two, of which has_lost_member() is true.
Status group_has_failed(const RankMap& group, const RankMap* remote);

/// A process has been lost: breaks all communicators of this process that had members there.
void break_by_loss();
/// Breaks the communicator with this id, and all with it that come to be later. False: it was
/// revoked before.
bool revoke(ContextId id);
bool is_revoked(ContextId id);

/// What the layers above end when a communicator breaks.
void add_broken_handler(void (*handler)(SharedComm* shared, const Status& status));
/// Is any communicator of this process broken, or has been?
bool any_broken();

/// For a communicator that has just been made: marks it if it is broken already.
void note_if_broken(SharedComm* shared);
/// Breaks one. Used by the files here.
void break_comm(SharedComm* shared, Broken how);

}  // namespace fgmpi::comm
