// The variables of the tools interface as text: the list of `fgmpi-info -t`.
#pragma once

#include "base/status.h"

namespace fgmpi::tools {

/// Prints all control variables with their values, all performance variables and all categories,
/// ours before the host's. Where the library is not in this process, this executes the program
/// again, with the library preloaded, and returns only with an error.
Status list_variables(char* const* argv);

}  // namespace fgmpi::tools
