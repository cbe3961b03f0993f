// In a build without PMIx's header, a launcher that offers PMIx alone is refused.

#include "bootstrap/pmix.h"

#include <mpi.h>

namespace fgmpi::bootstrap {

Status open_pmix(std::unique_ptr<Bootstrap>*) {
  return error(MPI_ERR_OTHER,
               "the launcher offers PMIx, for which this library was not built: use another "
               "(srun --mpi=pmi2, or mpiexec), or FGMPI_SINGLETON=yes for a job of one process");
}

}  // namespace fgmpi::bootstrap
