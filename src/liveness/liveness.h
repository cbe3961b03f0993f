// Liveness: how the processes of a job end, and how the others find that out.
//
// The states of a process, and who may move it from one to the next:
//
//             all its ranks have ended               the launcher has
//             and received what was sent to them     acknowledged its end
//   running -----------------------------> leaving -----------------------> gone in order
//      |         src/mpi/life/end_agreement.cc     |       src/mpi/life/end_agreement.cc
//      |                                      |
//      +--------------------------------------+---> lost: it has ended without its mark,
//            found by others: watch.h, lifeline.h,        or cannot be reached
//            the transports, the launcher
//
// Only the process itself moves itself to "leaving" and "gone in order"; only others can find it
// lost. No process has a table of states. A process that sees an end decides at that moment, by
// these rules:
//   1. A process leaves together with all others: it goes on from "leaving" when all have reached
//      at least that state (a fence of the launcher), and closes no connection before. So in a job
//      where all goes well no running process sees an end.
//   2. A process that is leaving may see ends of processes that are one step ahead. It treats none
//      of them as a loss. If one is a loss, the fence never ends, and the launcher, which sees
//      every end, ends the job.
//   3. On one host the mark (end_mark.h) decides. A process leaves it before it ends; its watcher
//      reads it after that.
//   4. A loss is reported by one line, which names the process and its ranks (report_line.h), and
//      ends the job.
//
// Thread rule of this file: one thread, host stack.
#pragma once

#include <cstdint>

namespace fgmpi::liveness {

enum class LivenessState : uint8_t { kRunning, kLeaving, kLeftInOrder };

/// The state of this process. A process cannot find out that it is lost.
LivenessState own_state();

/// Moves from running to leaving. REQUIRES: all ranks of this process have ended.
void start_leaving();

/// Moves from leaving to gone in order, and leaves the mark. REQUIRES: the launcher has
/// acknowledged the end, or there is none.
void end_in_order();

/// True when the end of a connection means that the process at the other end is lost (rule 2).
inline bool ends_are_losses() { return own_state() == LivenessState::kRunning; }

}  // namespace fgmpi::liveness
