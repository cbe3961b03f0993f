// Lost processes: what becomes of the operations that need one (mpiexec -ft).
//
// lose_process() ends, with MPIX_ERR_PROC_FAILED, what cannot complete any more: sends that wait
// for the process, messages that it has sent in part, data that is read from it. Frames to it are
// dropped from then on; a send that needs an answer ends with the error. What it had sent whole
// stays and can be received.
//
// Receives are a question of communicators, which this layer does not know: a layer above judges
// each pattern (set_receive_judge()), and examine_receives() ends those that cannot complete. A
// request with MPI_ANY_SOURCE is not ended but stalled (PROC_FAILED_PENDING): it completes for
// whoever waits for it, with that error, while it stays posted.
//
// In a job without lost processes nothing of this costs an instruction: peers that are lost look
// like peers whose frames wait for room (Engine::defer), stalled requests like those that complete
// only when polled (Request::polled).
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "pt2pt/match.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::pt2pt {

/// The processes that are known here to be lost, in the order in which that became known. The list
/// only grows.
const std::vector<uint32_t>& lost_processes();
bool is_lost(uint32_t process);
/// MPIX_ERR_PROC_FAILED: "process 3 of the job (world ranks 300 to 399) has failed".
Status process_failed(uint32_t process);

/// Ends what waits for the process, receives excepted (examine_receives()). A second call does
/// nothing.
void lose_process(uint32_t process);

/// Whether a receive or probe with this pattern, at the endpoint of proclet `local`, can complete:
/// ok, or its error, of class MPIX_ERR_REVOKED, MPIX_ERR_PROC_FAILED, or, where a message may come
/// all the same, MPIX_ERR_PROC_FAILED_PENDING.
using ReceiveJudge = Status (*)(const Envelope& pattern, uint32_t local);
void set_receive_judge(ReceiveJudge judge);

/// Ends, or stalls, posted receives and probes that the judge says cannot complete: all of this
/// process / those of one proclet.
void examine_receives();
void examine_receives(uint32_t local);
/// A request that is stalled is incomplete again, now that the program has been told; false: it is
/// not stalled.
bool go_on_if_stalled(Request* request);
/// Stalled requests of the proclet go on: its rank has been told otherwise.
void resume_receives(uint32_t local);
/// Ends sends of contexts with (ctx & mask) == `id` that wait for a match or an answer, and what is
/// being taken in of such messages. Sends whose frames wait for room are left: they are ended by a
/// later call.
void end_operations(uint64_t id, uint64_t mask, const Status& status);
/// The error of a blocking receive or probe that is about to wait at the proclet's endpoint; ok
/// where a message that the pattern takes is there already, unless the communicator is revoked.
Status refusal(const Envelope& pattern, uint32_t local);

}  // namespace fgmpi::pt2pt
