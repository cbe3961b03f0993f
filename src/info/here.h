// The description of a process that `fgmpi-info -v` prints: its binding, its host, and the
// transports to the others.
#pragma once

#include <string>

namespace fgmpi::tools {

/// Lines of "name  value". Takes part in the job when there is one: REQUIRES that all its processes
///                 call it.
/// `rank` is the process's index in the job, 0 without one.
std::string describe_process(int* rank);

}  // namespace fgmpi::tools
