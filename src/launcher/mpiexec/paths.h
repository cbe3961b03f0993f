// Paths of the installation: its prefix, found from the running program's path, and hydra's
// mpiexec.
#pragma once

#include <string>

#include "base/status.h"

namespace fgmpi::launcher {

/// The prefix whose bin folder this program lies in, without a slash at the end.
Status find_prefix(std::string* prefix);

/// Finds mpiexec.hydra: FGMPI_HYDRA, else the installation's own, else the first in PATH, /usr/bin
/// and /usr/local/bin. Only a file of that name counts: a plain mpiexec may belong to another MPI,
/// or be this one.
Status find_hydra(std::string* path);

}  // namespace fgmpi::launcher
