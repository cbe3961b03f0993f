// The end of a rank that begins on another stack than its own: exit() in another thread
// of the rank.
//
// Wherever the rank is (in a blocking MPI call, asleep, waiting for the thread), it does not return
// from there. It goes on with another function, on a proclet and a stack of its own
// (sched::end_of()), which is the rank's proclet from then on. The stack that it has left stays
// until the process ends, since what it waited for (a posted receive, say) may be on it and be
// written to. The proclet that has left stays, too: it may be made ready when that receive is
// complete, and then parks again.
#pragma once

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// Makes the rank go on with entry(argument) in place of what it does, soon after it no longer runs
/// on the scheduler's thread, unless it ends before. entry() must not return: it calls finish(). A
/// rank that computes is not interrupted. Any thread may call this, with or without the engine
/// lock. Never switches.
void leave_for(Proclet* rank, void (*entry)(void*), void* argument);

}  // namespace fgmpi::sched
