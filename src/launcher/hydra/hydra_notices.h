// Which processes of a job receive SIGUSR1 when hydra passes it on from mpiexec.
//
// A proxy sends the signal to the group of each process that it has started. The signal's default
// action ends a process, also a shell around the program; and where a handler that does nothing is
// set, pause(), poll() or sleep() return early. So the signal is only sent to processes that expect
// it: those that have a handler, or block it to wait for it. The others see nothing.
//
// Thread rule: one thread, the proxy's. This code is part of a library that is loaded into the
// proxy, and uses only the C library.
#pragma once

#include <sys/types.h>

namespace fgmpi::launcher {

/// True where the process has a handler for the signal.
bool catches(pid_t process, int number);
/// True for a child of this proxy that has not executed a program yet. Its handlers are still the
/// proxy's.
bool is_copy(pid_t process);
/// Sends the signal to the processes of the group that expect it.
void send_to_those_that_expect_it(pid_t group, int number);

}  // namespace fgmpi::launcher
