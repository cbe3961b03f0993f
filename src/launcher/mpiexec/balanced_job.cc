// The set-up of a job whose ranks move.
#include "launcher/mpiexec/balanced_job.h"

#include "base/environment.h"
#include "launcher/mpiexec/checkpointed_job.h"

namespace fgmpi::launcher {

Status set_up_balance(bool summary, const std::string& library_folder) {
  FGMPI_TRY(set_up_checkpointer("-balance", library_folder));
  environment::set(environment::kBalance, summary ? "on,summary" : "on");
  return {};
}

}  // namespace fgmpi::launcher
