// What the bindings of topologies share.
#pragma once

#include "comm/topology.h"
#include "mpi/comm_common.h"

namespace fgmpi::mpi {

/// Errors: MPI_ERR_TOPOLOGY when the communicator has none of this kind.
inline Status need_topology(const comm::Comm* c, comm::Topology::Kind kind, const char* words) {
  if (c->shared->topology && c->shared->topology->kind == kind) return {};
  return error(MPI_ERR_TOPOLOGY, "comm has no %s topology", words);
}
inline Status need_cart(const comm::Comm* c) {
  return need_topology(c, comm::Topology::Kind::kCart, "Cartesian");
}

/// A communicator of `order` (ranks of c in the order of the new ranks) with `topology`. Collective; may switch.
int create_with(const char* call, comm::Comm* c, const RankMap& order, comm::Topology topology,
                MPI_Comm* newcomm, std::unique_ptr<comm::Neighbors> neighbors = nullptr);

/// A rank that the caller gives for one of the communicator's. Errors: MPI_ERR_RANK.
inline Status check_member(const comm::Comm* c, int rank) {
  if (rank >= 0 && rank < c->size()) return {};
  return error(MPI_ERR_RANK, "rank is %d; allowed is 0 to %d", rank, c->size() - 1);
}

}  // namespace fgmpi::mpi
