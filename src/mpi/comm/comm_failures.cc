// MPICH's extensions for processes that fail: MPIX_Comm_revoke and its like (src/survivors/).
// MPIX_Comm_agree and MPIX_Comm_shrink are generated whole.

#include "comm/group.h"
#include "mpi/calls.h"
#include "survivors/survivors.h"

namespace fgmpi::mpi {

Status comm_revoke(comm::Comm* comm) {
  survivors::revoke(comm);
  return {};
}

Status comm_failure_ack(comm::Comm* comm) {
  survivors::acknowledge(comm);
  return {};
}

Status comm_failure_get_acked(comm::Comm* comm, MPI_Group* failedgrp) {
  return comm::make_group(survivors::acknowledged(comm), failedgrp);
}

}  // namespace fgmpi::mpi
