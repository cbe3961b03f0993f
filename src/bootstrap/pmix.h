// PMIx, by the system's libpmix.so.2, loaded when a launcher offers it: srun --mpi=pmix, PRRTE's
// and Open MPI's mpirun.
//
// Its functions block the process as Bootstrap's do. PMIx's own thread only wakes them, and closes
// the write end of a pipe when the launcher is gone; launcher_fd() is the read end. In a build
// without PMIx's header, open_pmix() returns an error (missing/pmix.cc).
#pragma once

#include <memory>

#include "base/environment.h"
#include "bootstrap/bootstrap.h"

namespace fgmpi::bootstrap {

/// True when the environment names a PMIx server.
inline bool pmix_offered() {
  return environment::text(environment::kPmixNamespace) &&
         environment::text(environment::kPmixRank);
}

Status open_pmix(std::unique_ptr<Bootstrap>* out);

}  // namespace fgmpi::bootstrap
