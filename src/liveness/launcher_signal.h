// SIGUSR1 from the launcher.
//
// Hydra sends it to the processes of a job as a notice: when one of them has failed (mpiexec
// -disable-auto-cleanup), and whenever a user sends it to mpiexec. A program without a handler for
// it would be ended by it, although nothing is wrong; MPICH's library handles it, too. So it is
// ignored here, unless the program has a handler of its own. From another sender it has its usual
// effect.
//
// A handler that ignores the signal makes pause(), poll() and sleep() of the program return early.
// Our mpiexec sends it on this host only to processes that expect it
// (launcher/hydra/hydra_notices.h), and sets a variable of the environment that says so: then no
// handler is installed here. With mpiexec -ft, on other hosts and under other launchers the signal
// may come, and a handler is installed.
#pragma once

namespace fgmpi::liveness {

/// Installs the handler, if the environment is that of a job whose launcher sends the signal, and
/// the program's parent has not changed what the signal does. Called when this library is loaded,
/// so that the program's own handlers are installed later and replace it.
void ignore_notices_of_launcher();

/// Sets the function that the signal handler calls for each notice; it is called at once if one has
/// come before.
void set_notice_handler(void (*handler)());

}  // namespace fgmpi::liveness
