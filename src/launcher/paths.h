// Where things lie: our own prefix (from the running program's place) and hydra's mpiexec.
#pragma once

#include <string>

#include "base/status.h"

namespace fgmpi::launcher {

/// The prefix whose bin folder this program lies in, without a slash at the end.
Status find_prefix(std::string* prefix);

/// mpiexec.hydra: FGMPI_HYDRA, else the first in PATH, /usr/bin and /usr/local/bin. By that name
/// only: plain mpiexec may be another MPI's, or ours.
Status find_hydra(std::string* path);

}  // namespace fgmpi::launcher
