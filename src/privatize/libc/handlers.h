// Handlers of signals that ranks of a process install: each rank has its own, though the kernel has
// one for the process. The kernel's handler is a function of this library, which calls
//
//   a signal of the process (kill, alarm, the terminal) --> the handler of each rank that has one
//   a fault of a rank, raise(), pthread_kill()          --> that rank's handler; if it has none:
//                                                           what the process did before ranks began
//
// This function also counts the runs of each rank's handlers (sched::count_interruption): a rank
// that waits outside of MPI is parked, so the kernel cannot end its wait with EINTR. A handler ends
// the waits of its own rank only. sigaction() returns the calling rank's handlers.
//
// A rank that is in another process of the host (load/visitors.h) gets the signals of its home,
// whose number getpid() gives it. The home keeps the kernel's handler, notes the signal in the slot
// of the rank, and lets its process call the rank's handler. Signals of the process where it is are
// not the rank's, apart from those of timers: it has set these there. A visitor goes home before it
// installs a function.
//
// Ranks that share their globals share their handlers: the one that was installed last counts
// for all.
//
// Thread rule: any thread.
#pragma once

#include "proclet-sched/threads/descriptor_waits.h"

namespace fgmpi::privatize {

/// True where the running rank is in a signal handler, which may have interrupted anything, this
/// library too. Thread rule: the scheduler's thread.
bool in_handler();

/// True where the running rank has a function as the handler of some signal. Thread rule: the
/// scheduler's thread.
bool rank_has_handlers();

/// The counts of the running rank's handlers that have run. Thread rule: the scheduler's thread.
sched::InterruptionCounts* counts_of_rank();

/// Called when the running rank has ended: drops its handlers.
void forget_handlers_of_rank();

/// Writes the running rank's actions into memory of its slot, to which *list then leads (null: it
/// has none); frees what *list has been before. Returns nullptr, or why that is impossible.
const char* describe_handlers(void** list);
/// Installs those actions for the running rank.
void install_handlers(const void* list);

/// Called once in a process where ranks may come and go, before they run.
void follow_signals_of_moved_ranks();
/// The running rank, which can be in other processes, leaves this one. Returns what goes along:
/// where signals of its home are noted, in its slot; nullptr where it has no handlers.
void* let_handlers_leave();
/// The running rank has come, with what let_handlers_leave() has returned and describe_handlers()
/// has written. Handlers of signals that have come meanwhile run now.
void let_handlers_come(void* came_with, const void* list);

/// signal(), called by code at `caller`.
void (*signal_of_program(int number, void (*handler)(int), const void* caller))(int);

}  // namespace fgmpi::privatize
