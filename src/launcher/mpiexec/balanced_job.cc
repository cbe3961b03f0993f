// The set-up of a job whose ranks move.
#include "launcher/mpiexec/balanced_job.h"

#include <mpi.h>
#include <sys/personality.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/settings.h"
#include "launcher/mpiexec/checkpointed_job.h"

namespace fgmpi::launcher {

Status set_up_balance(bool summary, const std::string& library_folder) {
  if (access((library_folder + "/" + kCheckpointer).c_str(), R_OK) != 0)
    return error(MPI_ERR_ARG, "-balance: %s/%s is not installed", library_folder.c_str(),
                 kCheckpointer);
  environment::set(environment::kBalance, summary ? "on,summary" : "on");
  // A process with other addresses would execute itself once more.
  if (const int now = personality(0xffffffff); now >= 0)
    personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE);
  environment::set(settings::kRecords[settings::kHeap].name, "rank");
  environment::set(settings::kRecords[settings::kPackStacks].name, "off");
  // The variables of a program are in its rank's slot as those of an image of it.
  if (const char* name = settings::kRecords[settings::kPrivatize].name; !environment::text(name))
    environment::set(name, "on");
  environment::put_first(environment::kPreload, kCheckpointer);
  return {};
}

}  // namespace fgmpi::launcher
