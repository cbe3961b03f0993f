// mpiexec -record and -rewind: the process of all ranks is started without hydra, at the same
// addresses each time, and src/rewind does the rest in it.
//
// Thread rule: one thread.
#pragma once

#include <string>

#include "base/status.h"
#include "launcher/mpiexec/checked_job.h"
#include "launcher/mpiexec/command_line.h"

namespace fgmpi::launcher {

/// The library that counts events; see kChecker for why it has no folder.
inline constexpr const char* kTape = "libfgmpi-rewind.so";

/// Executes the program of -record in place of mpiexec. Returns only with an error.
Status record(const LaunchPlan& plan, const std::string& library_folder);

/// -rewind: repeats the recorded run, or, for -events, lists what it does. `checked`: the job of
/// -check. Returns the exit status of mpiexec, after a line about what is wrong.
int rewind(const LaunchPlan& plan, const std::string& library_folder, CheckedJob* checked);

}  // namespace fgmpi::launcher
