// The timers of sleeping proclets, ordered by deadline.
// Thread rule: one thread; nothing here switches.
#pragma once

#include "proclet-sched/coroutine/scheduler.h"

namespace fgmpi::sched {

/// The proclet is made ready at `deadline` (of now_ns()), and is in state kSleeping until then.
void add_timer(int64_t deadline, Proclet* proclet);
/// Removes the timer of that proclet: it is not woken any more.
void remove_timer(const Proclet* proclet);
/// Makes all proclets ready whose deadline has passed.
void wake_sleepers();
/// Nanoseconds from `now` until the next deadline, 0 when one has passed; -1: no proclet sleeps.
int64_t until_next_timer(int64_t now);

}  // namespace fgmpi::sched
