// Handlers of signals that the program installs while several ranks run. Each is called through a
// function of this library, which counts it (sched::count_interruption): a rank that waits outside
// of MPI is parked, so the kernel cannot tell it by EINTR that a handler has run. The program sees
// its own handlers and flags (sigaction).
//
// All ranks of the process that wait so are interrupted, since signals are the process's.
//
// Thread rule: any thread.
#pragma once

namespace fgmpi::privatize {

/// The running rank is in a handler, which may have interrupted anything, the library too. The
/// scheduler's thread.
bool in_handler();

/// signal() for code at `caller`.
void (*signal_of_program(int number, void (*handler)(int), const void* caller))(int);

}  // namespace fgmpi::privatize
