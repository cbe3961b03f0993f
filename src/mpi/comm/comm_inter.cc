// Intercommunicators (MPI-4.0 section 7.6).

#include "comm/create.h"
#include "mpi/calls.h"
#include "mpi/comm/comm_common.h"

namespace fgmpi::mpi {
namespace {

/// Arguments that are significant at the leader only: the communicator that both leaders are in,
/// and the other leader's rank there.
Status check_peer(MPI_Comm handle, int remote_leader, const comm::Comm** peer) {
  const comm::Comm* c = comm::find(handle);
  if (!c) return Status(MPI_ERR_COMM, "peer_" + comm::describe_bad(handle));
  const int size = c->shared->peers().size();
  if (remote_leader < 0 || remote_leader >= size)
    return error(MPI_ERR_RANK, "remote_leader is %d; allowed is 0 to %d", remote_leader, size - 1);
  if (!c->shared->inter && remote_leader == c->rank)
    return error(MPI_ERR_RANK, "remote_leader is %d, the calling rank itself", remote_leader);
  *peer = c;
  return {};
}

}  // namespace

Status intercomm_create(comm::Comm* local_comm, int local_leader, MPI_Comm peer_comm,
                        int remote_leader, int tag, comm::Comm** newintercomm) {
  FGMPI_TRY(check_intra(local_comm));
  comm::InterArguments arguments{local_leader, nullptr, remote_leader, tag};
  if (local_comm->rank == local_leader)
    FGMPI_TRY(check_peer(peer_comm, remote_leader, &arguments.peer));
  return comm::intercomm_create(local_comm, arguments, newintercomm);
}

Status intercomm_merge(comm::Comm* intercomm, int high, comm::Comm** newintracomm) {
  FGMPI_TRY(check_inter(intercomm));
  return comm::intercomm_merge(intercomm, high != 0, newintracomm);
}

}  // namespace fgmpi::mpi
