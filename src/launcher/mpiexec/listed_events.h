// mpiexec -rewind FILE -events: prints the events that the repeated run reports.
//
// Thread rule: one thread.
#pragma once

#include <sys/types.h>

#include "launcher/mpiexec/command_line.h"

namespace fgmpi::launcher {

/// Reads events from the socket until its other end is closed, and prints those that are wanted.
/// `process`: the repeated run.
void print_events(int control, pid_t process, const LaunchPlan::Rewind& wishes);

}  // namespace fgmpi::launcher
