// The description of a process that `fgmpi-info -v` prints: its binding, its host, and the
// transports to the others.
#pragma once

#include <string>

namespace fgmpi::tools {

/// Lines of "name  value". In a job this exchanges data with the other processes. REQUIRES: all
/// processes of the job call it. `rank` is the process's index in the job, 0 without one.
std::string describe_process(int* rank);

}  // namespace fgmpi::tools
