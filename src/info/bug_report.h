// What `fgmpi-info -bug` prints for a bug report, after the version and the paths.
#pragma once

#include <string>

namespace fgmpi::tools {

/// Lines of "name  value": system, processor, memory, limits, and the variables of this library and
/// of launchers that are set. The lines hold nothing private to the user: no other variables, no
/// names of hosts.
std::string bug_report();

}  // namespace fgmpi::tools
