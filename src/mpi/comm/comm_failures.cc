// MPICH's extensions for processes that fail: MPIX_Comm_revoke and its like (src/survivors/).
// MPIX_Comm_agree, MPIX_Comm_shrink and some others are whole in calls.table.

#include "comm/group.h"
#include "mpi/calls.h"
#include "mpi/comm/comm_common.h"
#include "mpi/tools/events.h"
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

Status comm_get_failed(comm::Comm* comm, MPI_Group* failedgrp) {
  return comm::make_group(survivors::failed(comm), failedgrp, comm->session);
}

Status comm_ack_failed(comm::Comm* comm, int num_to_ack, int* num_acked) {
  *num_acked = survivors::acknowledge(comm, num_to_ack);
  return {};
}

Status comm_iagree(const char* call, comm::Comm* comm, int* flag, MPI_Request* request) {
  FGMPI_TRY(pt2pt::need_handle());
  pt2pt::Request* made = nullptr;
  FGMPI_TRY(survivors::iagree(comm, flag, call, &made));
  *request = pt2pt::handle_of(made);
  return {};
}

int comm_ishrink(const char* call, MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  if (newcomm) *newcomm = MPI_COMM_NULL;
  FGMPI_ENTER(call, c, comm);
  FGMPI_RETURN_IF(call, c, check_pointer(newcomm, "newcomm"));
  FGMPI_RETURN_IF(call, c, check_pointer(request, "request"));
  FGMPI_RETURN_IF(call, c, pt2pt::need_handle());
  pt2pt::Request* made = nullptr;
  FGMPI_RETURN_IF(call, c, survivors::ishrink(c, newcomm, call, &made));
  events::watch(made, events::kCommMade);
  *request = pt2pt::handle_of(made);
  return MPI_SUCCESS;
}

Status comm_failure_get_acked(comm::Comm* comm, MPI_Group* failedgrp) {
  return comm::make_group(survivors::acknowledged(comm), failedgrp);
}

}  // namespace fgmpi::mpi
