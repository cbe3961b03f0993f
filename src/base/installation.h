// The installation that the running code belongs to. Its parts are found from the code's own place:
// the build fixes no prefix, so that an installation may be moved.
#pragma once

#include <string>

namespace fgmpi {

/// The folder whose lib or bin holds this library or program; "" where the kernel does not tell it.
std::string installation_prefix();

/// The path of a file of the MPICH that lies inside the installation (scripts/package --portable),
/// such as "bin/mpiexec.hydra"; "" where the installation has none.
std::string installed_host_file(const char* name);

}  // namespace fgmpi
