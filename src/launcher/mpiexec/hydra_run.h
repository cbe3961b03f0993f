// mpiexec.hydra as a child of mpiexec, for the work of mpiexec while hydra runs or after it has
// ended.
//
// Thread rule: one thread; one run a process.
#pragma once

#include <functional>
#include <string>

namespace fgmpi::launcher {

/// Runs hydra with these arguments and passes on the signals that hydra handles. Calls `tick` every
/// `interval_ms` meanwhile, if that is not 0. Returns hydra's exit status, 128 plus its number for
/// a signal, 127 when hydra could not be executed, 1 when no process could be created; the last two
/// are reported on standard error. Where mpiexec is killed, hydra gets a signal to end.
int run_hydra(const std::string& hydra, char* const* arguments, int interval_ms = 0,
              const std::function<void()>& tick = {});

/// Signals of this number are counted and not passed on. Called before run_hydra().
void keep_signal(int number);
int signals_kept();

/// SIGINT, SIGTERM, SIGQUIT or SIGHUP, the first that mpiexec received while hydra ran; 0: none.
int signal_sent_to_job();

}  // namespace fgmpi::launcher
