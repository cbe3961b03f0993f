// Sleeping proclets, by when they are due.
// Thread rule: one thread; nothing here switches.
#pragma once

#include "proclet-sched/scheduler.h"

namespace fgmpi::sched {

/// The proclet is to be made ready at `deadline` (now_ns()), in state kSleeping until then.
void add_timer(int64_t deadline, Proclet* proclet);
/// That proclet is not to be woken any more.
void remove_timer(const Proclet* proclet);
/// Makes those ready that are due.
void wake_sleepers();
/// Nanoseconds from `now` until the next one is due, 0 when one is; -1: nobody sleeps.
int64_t until_next_timer(int64_t now);

}  // namespace fgmpi::sched
