// mpiexec.hydra as a child of mpiexec, for what mpiexec does while it runs or when it has ended.
//
// Thread rule: one thread; one run a process.
#pragma once

#include <functional>
#include <string>

namespace fgmpi::launcher {

/// Runs hydra with these arguments and passes on the signals that it knows. Calls `tick` every
/// `interval_ms` meanwhile, if that is not 0. Returns its exit status, 128 and its number for a
/// signal, 127 when it could not be executed, 1 when there is no process to be had; the last two
/// are told on standard error. Where mpiexec is killed, hydra is asked to end.
int run_hydra(const std::string& hydra, char* const* arguments, int interval_ms = 0,
              const std::function<void()>& tick = {});

/// SIGINT, SIGTERM, SIGQUIT or SIGHUP, the first that mpiexec was sent while hydra ran; 0: none.
int signal_sent_to_job();

}  // namespace fgmpi::launcher
