#include "comm/jobs.h"

#include "ch4-av-rankmap/mlut.h"

namespace fgmpi::comm {

Status check_one_job(const Comm* comm, const char* what) {
  const SharedComm& shared = *comm->shared;
  if (!shared.id.is_drawn() ||
      (!has_foreign(shared.map) && !(shared.remote && has_foreign(*shared.remote))))
    return {};
  return error(
      MPI_ERR_UNSUPPORTED_OPERATION,
      "comm has members of several jobs; %s is not implemented for these yet, allowed is a "
      "communicator of members of one job",
      what);
}

}  // namespace fgmpi::comm
