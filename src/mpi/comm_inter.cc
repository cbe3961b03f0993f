// Intercommunicators (MPI-4.0 section 7.6).

#include "comm/create.h"
#include "mpi/comm_common.h"

using namespace fgmpi;

namespace {

Status check_leader(const comm::Comm* c, int rank, const char* argument) {
  int size = c->shared->peers().size();
  if (rank >= 0 && rank < size) return {};
  return error(MPI_ERR_RANK, "%s is %d; allowed is 0 to %d", argument, rank, size - 1);
}

}  // namespace

FGMPI_EXPORT(MPI_Intercomm_create);
int PMPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
                          int remote_leader, int tag, MPI_Comm* newintercomm) {
  if (newintercomm) *newintercomm = MPI_COMM_NULL;
  constexpr const char* kCall = "MPI_Intercomm_create";
  FGMPI_ENTER(kCall, c, local_comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(newintercomm, "newintercomm"));
  FGMPI_RETURN_IF(kCall, c, mpi::check_intra(c));
  FGMPI_RETURN_IF(kCall, c, check_leader(c, local_leader, "local_leader"));
  FGMPI_RETURN_IF(kCall, c, mpi::check_tag(tag, false));
  comm::InterArguments arguments{local_leader, nullptr, remote_leader, tag};
  if (c->rank == local_leader) {
    arguments.peer = comm::find(peer_comm);
    if (!arguments.peer)
      return mpi::fail(kCall, c, Status(MPI_ERR_COMM, "peer_" + comm::describe_bad(peer_comm)));
    FGMPI_RETURN_IF(kCall, c, check_leader(arguments.peer, remote_leader, "remote_leader"));
    if (!arguments.peer->shared->inter && remote_leader == arguments.peer->rank)
      return mpi::fail(
          kCall, c,
          error(MPI_ERR_RANK, "remote_leader is %d, the calling rank itself", remote_leader));
  }
  comm::Comm* made = nullptr;
  Status status = comm::intercomm_create(c, arguments, &made);
  return mpi::give(kCall, c, status, made, newintercomm);
}

FGMPI_EXPORT(MPI_Intercomm_merge);
int PMPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm* newintracomm) {
  if (newintracomm) *newintracomm = MPI_COMM_NULL;
  constexpr const char* kCall = "MPI_Intercomm_merge";
  FGMPI_ENTER(kCall, c, intercomm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(newintracomm, "newintracomm"));
  FGMPI_RETURN_IF(kCall, c, mpi::check_inter(c));
  comm::Comm* made = nullptr;
  Status status = comm::intercomm_merge(c, high != 0, &made);
  return mpi::give(kCall, c, status, made, newintracomm);
}
