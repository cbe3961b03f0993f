// Lost processes: what becomes of the operations that need one (mpiexec -ft).
//
// lose_process() ends, with MPIX_ERR_PROC_FAILED, what cannot complete any more: sends that wait
// for the lost process, messages that it has sent in part, data that is read from it. Later frames
// to it are dropped; a send that needs an answer ends with the error. Messages that it had sent
// whole stay and can be received.
//
// Whether a receive can complete depends on its communicator, which this layer does not have. A
// layer above judges each pattern (set_receive_judge()), and examine_receives() ends the receives
// that cannot complete. A request with MPI_ANY_SOURCE is not ended but stalled
// (PROC_FAILED_PENDING): it completes, with that error, for the call that waits for it, and its
// receive stays posted.
//
// A job without lost processes pays no instruction for this: lost peers are handled as peers whose
// frames wait for room (Engine::defer_frame), and stalled requests as requests that complete only
// when polled (Request::polled).
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "pt2pt/match.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::pt2pt {

/// The processes that are recorded here as lost, in the order of recording. The list only grows.
const std::vector<uint32_t>& lost_processes();
bool is_lost(uint32_t process);
/// The error MPIX_ERR_PROC_FAILED: "process 3 of the job (world ranks 300 to 399) has failed".
Status process_failed(uint32_t process);

/// Ends every operation that waits for the process, except receives (examine_receives()). A second
/// call does nothing.
void lose_process(uint32_t process);

/// Judges whether a receive or probe with this pattern, at the endpoint of proclet `local`, can
/// complete: ok, or the receive's error, of class MPIX_ERR_REVOKED, MPIX_ERR_PROC_FAILED, or, where
/// a message may still come, MPIX_ERR_PROC_FAILED_PENDING.
using ReceiveJudge = Status (*)(const Envelope& pattern, uint32_t local);
void set_receive_judge(ReceiveJudge judge);

/// Ends, or stalls, posted receives and probes that the judge says cannot complete: all of this
/// process, or those of one proclet.
void examine_receives();
void examine_receives(uint32_t local);
/// Makes a stalled request incomplete again, after the program has received its error; false: the
/// request is not stalled.
bool go_on_if_stalled(Request* request);
/// Makes all stalled requests of the proclet incomplete again: its rank has acknowledged
/// the failures.
void resume_receives(uint32_t local);
/// Ends sends of contexts with (ctx & mask) == `id` that wait for a match or an answer, and fails
/// pulls of such messages. Sends whose frames wait for room are not ended: a later call ends them.
void end_operations(uint64_t id, uint64_t mask, const Status& status);
/// The error of a blocking receive or probe that is about to wait at the proclet's endpoint. ok
/// where the endpoint has a message that matches the pattern, unless the communicator is revoked.
Status refusal(const Envelope& pattern, uint32_t local);

}  // namespace fgmpi::pt2pt
