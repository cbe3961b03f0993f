// Liveness: how the processes of a job end, and how the others learn of it.
//
// The states of a process, and who may move it from one to the next:
//
//             all its ranks have ended               the launcher has
//             and took in what was theirs            acknowledged its end
//   running -----------------------------> leaving -----------------------> gone in order
//      |         src/mpi/end_agreement.cc     |       src/mpi/end_agreement.cc
//      |                                      |
//      +--------------------------------------+---> lost: it has ended without its mark, or cannot be reached
//            seen by others: watch.h, lifeline.h,
//            the transports, the launcher
//
// Only a process itself moves itself to "leaving" and "gone in order"; only others can find it
// lost. Nobody keeps a table of states: who sees an end decides then, by these rules:
//   1. A process leaves together with all others: it goes on from "leaving" when all are at least
//      there (a fence of the launcher's), and closes no connection before. So in a job where all
//      goes well nobody who is running sees an end.
//   2. Who is leaving itself may see ends, of processes that are one step ahead. It takes none of
//      them for a loss. If one is, the fence never comes to its end, and the launcher, which sees
//      every end, ends the job.
//   3. On one host the mark (end_mark.h) decides. A process leaves it before it ends; its watcher
//      reads it after that.
//   4. A loss is one line, which names the process and its ranks (report_line.h), and the end of
//      the job.
//
// Thread rule of this file: one thread, host stack.
#pragma once

#include <cstdint>

namespace fgmpi::liveness {

enum class State : uint8_t { kRunning, kLeaving, kGoneInOrder };

/// Of this process. It cannot know that it is lost.
State own_state();

/// running -> leaving. REQUIRES: all ranks of this process have ended.
void start_leaving();

/// leaving -> gone in order, and leaves the mark. REQUIRES: the launcher has acknowledged the end,
/// or there is none.
void end_in_order();

/// Is an end of a connection that this process sees the loss of the process at the other end? (rule
/// 2)
inline bool ends_are_losses() { return own_state() == State::kRunning; }

}  // namespace fgmpi::liveness
