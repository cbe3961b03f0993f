// The library that mpiexec loads into mpiexec.hydra; hydra_guard.cc lists the faults that it mends.
#pragma once

namespace fgmpi::launcher {

/// The guard's file name. LD_PRELOAD names it without its folder, whose path may hold spaces:
/// LD_LIBRARY_PATH leads to it.
inline constexpr const char* kHydraGuard = "libfgmpi_hydra.so";

/// Proxies say by an empty file of this name, with the signal's number, in the folder of a job's
/// checkpoints that a signal has ended a process which they have not ended themselves.
inline constexpr const char* kKilledPrefix = "killed-";

/// Where a proxy runs without the guard, nobody makes those files. So proxies with the guard make
/// the first of these files. mpiexec.hydra makes the second one, with the number of the signal of
/// which the first report of a lost process tells (liveness/report_line.h), or the statuses that
/// proxies send at their end.
inline constexpr const char *kGuarded = "guarded", *kReportedPrefix = "reported-";

/// mpiexec makes this file where the job is to go on from its checkpoint: then the loss of a host
/// ends hydra, also with -ft.
inline constexpr const char* kGoesBack = "goes-back";

/// The file in that folder in which mpiexec.hydra records the hosts that were lost: for each a line
/// of its proxy's number and its name, where that is known; or this word and the number of a
/// process on it.
inline constexpr const char *kLostHosts = "lost-hosts", *kLostProcess = "process ";

}  // namespace fgmpi::launcher
