// What `fgmpi-info -bug` prints for a bug report, behind the version and where things are.
#pragma once

#include <string>

namespace fgmpi::tools {

/// Lines of "name  value": system, processor, memory, limits, and the variables of this library and
///                 of launchers that are
/// set. Nothing of the user's own: no other variables, no names of hosts.
std::string bug_report();

}  // namespace fgmpi::tools
