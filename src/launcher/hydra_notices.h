// SIGUSR1 that hydra passes on from mpiexec to the processes of a job: which of them get it.
//
// A proxy sends it to the group of each process that it has started. Its default action ends a
// process, of a shell around the program, too; and where a handler that does nothing is there,
// pause(), poll() or sleep() return early. So only processes that expect it get it: those that
// catch it, or have it blocked to wait for it. On the others it has no effect.
//
// Thread rule: one thread, the proxy's. Runs in a library that is loaded into it: nothing but the C
// library is needed.
#pragma once

#include <sys/types.h>

namespace fgmpi::launcher {

/// Has the process a handler for the signal?
bool catches(pid_t process, int number);
/// Is it a child of this proxy that has yet to become a program? Its handlers are still the
/// proxy's.
bool is_copy(pid_t process);
/// Sends the signal to those of the group that expect it.
void send_to_those_that_expect_it(pid_t group, int number);

}  // namespace fgmpi::launcher
