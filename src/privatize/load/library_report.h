// What is private, shown to users: the line of FGMPI_VERBOSE, the list of `fgmpi-info -libs`.
//
// Thread rule: one thread, at the start, after the private libraries are chosen.
#pragma once

#include <vector>

#include "privatize/load/libraries.h"

namespace fgmpi::privatize {

/// Writes one line about the private libraries to standard error.
void report_private_libraries(const std::vector<PrivateLibrary>& libraries);

/// Prints the modules that are private, why, and what an image costs (see Images::Cost), and ends
/// the process.
[[noreturn]] void list_libraries(const std::vector<PrivateLibrary>& libraries);

}  // namespace fgmpi::privatize
