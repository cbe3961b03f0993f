// The end of a rank that comes from elsewhere than its own stack: exit() in another thread of the
// rank.
//
// Wherever the rank stands (in a blocking MPI call, asleep, waiting for the thread), it does not
// return from there: it goes on with another function, on a proclet and a stack of its own
// (sched::end_of()), which is the rank's proclet from then on. The stack that it has left stays as
// it is until the process ends, since what it waited for (a posted receive, say) may lie there and
// be written to; and the proclet that has left stays to be made ready when that is complete: it
// parks again.
#pragma once

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// Soon, when the rank does not run on the scheduler's thread any more, it goes on with
/// entry(argument) in place of what it does, unless it ends before. entry() must not return: it
/// calls finish(). Any thread, with or without the engine lock; never switches. A rank that
/// computes is not interrupted.
void leave_for(Proclet* rank, void (*entry)(void*), void* argument);

}  // namespace fgmpi::sched
