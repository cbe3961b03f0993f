// Broken communicators (mpiexec -ft): those that have lost a member, and those that were revoked.
//
// A communicator that breaks ends what is under way in it in this process: members that wait for
// others in a meeting, collectives between processes, agreements on a new communicator. From then
// on every collective of the communicator fails as it begins, at the member that calls it, so
// nobody waits for a member that has met the failure in another call. Point-to-point operations
// between the ranks that are left go on, unless the communicator is revoked (src/survivors/).
// Communicators without a lost member are not touched.
//
// Nothing is paid for this while no communicator is broken. A broken communicator has no
// meetings, and the branch that makes the first of them (meeting.cc) checks whether the
// communicator is broken.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "comm/comm.h"

namespace fgmpi::comm {

/// Bits of SharedComm::broken.
enum Broken : uint8_t { kLostMember = 1, kRevoked = 2 };

/// The error of an operation on a broken communicator: MPIX_ERR_REVOKED if it is revoked, else
/// MPIX_ERR_PROC_FAILED. Ok if the communicator is not broken.
Status broken_status(const SharedComm& shared);
bool has_member_in(const RankMap& map, uint32_t process);
/// True if one of the communicator's groups has lost a member. Where this process does not have the
/// map of a system-ranked communicator, true if any process has been lost.
bool has_lost_member(const SharedComm& shared);

/// The error of a group, or of two groups, for which has_lost_member() is true.
Status group_has_failed(const RankMap& group, const RankMap* remote);

/// Breaks all communicators of this process that had members in a lost process. Called when a
/// process has been lost.
void break_by_loss();
/// Breaks the communicator with this id, and all with this id that are made later. Returns false if
/// the id was revoked before.
bool revoke(ContextId id);
bool is_revoked(ContextId id);

/// Registers a function of a layer above, called when a communicator breaks: it ends the layer's
/// operations on that communicator.
void add_broken_handler(void (*handler)(SharedComm* shared, const Status& status));
/// True if any communicator of this process is broken, or has been.
bool any_broken();

/// Marks a communicator that has just been made, if it is broken already.
void mark_if_broken(SharedComm* shared);
/// Breaks one communicator. Only the files of this folder call it.
void break_comm(SharedComm* shared, Broken how);

}  // namespace fgmpi::comm
