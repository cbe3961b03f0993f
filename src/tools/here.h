// What `fgmpi-info -v` says of the process it runs in: where it is bound, on which host, what reaches the others.
#pragma once

#include <string>

namespace fgmpi::tools {

/// Lines of "name  value". Takes part in the job when there is one: REQUIRES that all its processes call it.
/// `rank` is the process's index in the job, 0 without one.
std::string describe_process(int* rank);

}  // namespace fgmpi::tools
