// What the bindings of topologies share.
#pragma once

#include "comm/topology.h"
#include "mpi/comm/comm_common.h"

namespace fgmpi::mpi {

/// Errors: MPI_ERR_TOPOLOGY when the communicator has none of this kind.
inline Status need_topology(const comm::Comm* c, comm::Topology::Kind kind, const char* words) {
  if (c->shared->topology && c->shared->topology->kind == kind) return {};
  return error(MPI_ERR_TOPOLOGY, "comm has no %s topology", words);
}
inline Status need_cart(const comm::Comm* c) {
  return need_topology(c, comm::Topology::Kind::kCart, "Cartesian");
}

/// Makes a communicator of `order` (ranks of c in the order of the new ranks) with `topology`.
/// Collective; may switch.
Status create_with(const char* call, comm::Comm* c, const RankMap& order, comm::Topology topology,
                   comm::Comm** newcomm, std::unique_ptr<comm::Neighbors> neighbors = nullptr);

}  // namespace fgmpi::mpi
