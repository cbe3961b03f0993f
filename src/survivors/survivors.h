// Survivors: what the ranks that are left can do when processes fail (mpiexec -ft): learn of it,
// acknowledge it, revoke a communicator, agree, and go on in a communicator without the failed
// ones. The calls are MPICH's MPIX_Comm_*, which are those of user-level failure mitigation.
//
// A process fails as a whole, with all its ranks. When this process learns of it (process_lost()):
//   point-to-point   operations that need it end with MPIX_ERR_PROC_FAILED, receives from any
//                    source with MPIX_ERR_PROC_FAILED_PENDING (pt2pt/lost.h)
//   communicators    those with a member there are broken: their collectives end and fail
//                    (comm/broken.h)
//   agreements       go on without it (agreement.h)
//
// Thread rule: one thread. agree(), shrink() and agree_to_end() may switch; the rest never does.
#pragma once

#include <cstdint>

#include "ch4-av-rankmap/rankmap.h"
#include "comm/comm.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::survivors {

/// Registers the handlers of this folder's notices, and the function that checks
/// receives. Idempotent.
void start();

/// True if each of the two processes detects the other's end itself: they are on one host and share
/// memory, whose transport watches both.
bool may_notice_loss(uint32_t one, uint32_t other);

/// Sets the function that is called when another process sends the notice that a process has
/// failed. Without it process_lost(process, true) is called.
void set_reported_loss_handler(void (*handler)(uint32_t process));
/// Called when this process has learned that another one has failed. `pass_on`: others may not
/// learn of it by themselves. Returns false if the failure was known.
bool process_lost(uint32_t process, bool pass_on);

/// MPIX_Comm_revoke: every operation on the communicator, at every member, ends with
/// MPIX_ERR_REVOKED.
void revoke(comm::Comm* comm);

/// MPIX_Comm_failure_ack: receives from MPI_ANY_SOURCE go on in spite of the members that have
/// failed so far.
void acknowledge(comm::Comm* comm);
/// MPIX_Comm_get_failed: the members of either group that are known to have failed, in the order in
/// which this process has learned of the losses, so that members that fail later come later.
RankMap failed(const comm::Comm* comm);
/// MPIX_Comm_ack_failed: acknowledges the first `wanted` members of failed(), and all others of
/// their processes. Returns how many of failed() are acknowledged.
int32_t acknowledge(comm::Comm* comm, int32_t wanted);
/// MPIX_Comm_is_revoked.
bool is_revoked(const comm::Comm* comm);
/// MPIX_Comm_failure_get_acked: the members that had failed at the last acknowledge(), in the order
/// of their ranks.
RankMap acknowledged(comm::Comm* comm);

/// MPIX_Comm_agree: *flag becomes the bitwise and of the flags of all members that are left.
/// Errors: MPIX_ERR_PROC_FAILED, with the same *flag, when a member has failed and not all members
/// have acknowledged that; all members get this error, or none.
Status agree(comm::Comm* comm, int* flag);
/// MPIX_Comm_shrink: makes a communicator of the members that are left, in the same order. All of
/// them get the same one. Errors: MPI_ERR_OTHER when no context id is left; MPIX_ERR_PROC_FAILED
/// when a group of an intercommunicator is empty.
Status shrink(comm::Comm* comm, comm::Comm** out);

/// MPIX_Comm_iagree and MPIX_Comm_ishrink: agree() and shrink() on a helper coroutine. A
/// communicator may have several agreements under way; all members begin them in one order. Never
/// switch.
Status iagree(comm::Comm* comm, int* flag, const char* call, pt2pt::Request** out);
Status ishrink(comm::Comm* comm, MPI_Comm* newcomm, const char* call, pt2pt::Request** out);

/// Returns when all ranks of all processes that are left have ended.
void agree_to_end();
/// True when agree_to_end() has decided: later ends of processes are no failures.
bool end_is_agreed();

/// The checks that point-to-point calls make once anything has failed or was revoked.
/// check_usable(): may the communicator be used? check_receive(): can the message arrive for which
/// a blocking receive or probe waits?
Status check_usable(const comm::Comm* comm);
Status check_receive(const comm::Comm* comm, int source, int tag);
/// True if anything has failed or been revoked. The fast paths of src/mpi are closed then.
bool troubled();

}  // namespace fgmpi::survivors
