// Signals from outside, for handlers of the program.
//
// While the run is recorded, such a signal waits for a boundary: the next MPI call, or the
// beginning or the end of the next trapped system call. There it becomes an input, and its handler
// is called. When the run is repeated, the handler is called at the same boundary. A signal that
// the program sends to itself by raise() or kill() comes at the end of that call, as always.
//
// Faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP), SIGABRT and SIGSYS are no such signals. Thread
// rule: the scheduler's thread.
#pragma once

#include <signal.h>

#include <cstdint>

namespace fgmpi::rewind {

/// Signals that wait for a boundary, one bit each (recorded run).
[[gnu::visibility("hidden")]] extern volatile uint64_t g_waiting_signals;

/// Calls the handlers of signals that come here. `context`: of the interrupted code, or nullptr.
/// May not return: a handler may jump.
void pass_signals(ucontext_t* context);

/// Does what pass_signals() does as an event begins: a boundary without a number of its own.
void pass_signals_at_event();

}  // namespace fgmpi::rewind
