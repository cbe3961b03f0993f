// SIGUSR1 from the launcher.
//
// Hydra sends it to the processes of a job as a notice: that one of them has failed (mpiexec
// -disable-auto-cleanup), and whenever somebody sends it to mpiexec. A program that knows nothing
// of it would end by it, although all is well; MPICH's library takes it too. So it is ignored here,
// unless the program has a handler of its own for it. From anybody else it does what it does
// without this library.
//
// A handler that ignores it lets pause(), poll() and sleep() of the program return early. Our
// mpiexec sends it on this host only to processes that expect it (launcher/hydra_notices.h) and
// says so in the environment: then there is no handler here. With mpiexec -ft, on other hosts and
// by other launchers it comes, and there is one.
#pragma once

namespace fgmpi::liveness {

/// Installs the handler, if the environment is that of a job whose launcher sends the signal and
/// the program's parent has left the signal alone. Called when this library is loaded, so that the
/// program's own handlers come later and win.
void ignore_notices_of_launcher();

/// Called for each such notice from then on, in the signal handler; at once if one has come before.
void set_notice_handler(void (*handler)());

}  // namespace fgmpi::liveness
