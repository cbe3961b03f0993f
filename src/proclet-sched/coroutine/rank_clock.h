// The processor time that proclets run for, for the balance of load (src/balance): measured at
// switches, from the moment on at which somebody asks for it.
//
// A short run is measured by the clock that is read without a system call, and a long one by the
// thread's processor time, of which a process has less where others want its core.
//
// Thread rule: the scheduler's thread.
#pragma once

#include <cstdint>

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// From now on calls note(ran, now, ns) when a proclet is left that has run for so long. Called
/// once. After a long run the transports are polled at the next switch: other processes may wait.
void measure_ranks(void (*note)(Proclet* ran, int64_t now, int64_t ns));

}  // namespace fgmpi::sched
