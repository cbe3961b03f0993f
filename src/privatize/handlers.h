// Handlers of signals that ranks of a process install: each rank has its own, though the kernel
// knows one for the process. The kernel is given a function of this library, which calls
//
//   a signal of the process (kill, alarm, the terminal)  --> the handler of each rank that has one
//   a fault of a rank, raise(), pthread_kill()           --> that rank's handler; where it has none,
//                                                            what the process did before ranks began
//
// and counts the handlers of each rank (sched::count_interruption): a rank that waits outside of
// MPI is parked, so the kernel cannot end its wait with EINTR. A handler ends the waits of its own
// rank only. sigaction() answers with the calling rank's handlers.
//
// Ranks that share their globals share their handlers: the last one that was installed.
//
// Thread rule: any thread.
#pragma once

#include "proclet-sched/descriptor_waits.h"

namespace fgmpi::privatize {

/// The running rank is in a handler, which may have interrupted anything, the library too. The
/// scheduler's thread.
bool in_handler();

/// The running rank has a function for some signal. The scheduler's thread.
bool rank_has_handlers();

/// How many handlers of the running rank have run. The scheduler's thread.
sched::InterruptionCounts* counts_of_rank();

/// The running rank has ended: its handlers are not called any more.
void forget_handlers_of_rank();

/// signal() for code at `caller`.
void (*signal_of_program(int number, void (*handler)(int), const void* caller))(int);

}  // namespace fgmpi::privatize
