// Topology: what MPI_Cart_create and MPI_Graph_create attach to a communicator, shared by
// collocated members.
//
//   Cartesian: dims and periods; coordinates are computed, row-major (MPI-4.0 section 8.5.1)
//   graph:     index and edges of the whole graph, once per process (section 8.5.3)
//   dist graph: only the kind here; the neighbours are each member's own (extras.h, section 8.5.4)
//
// Thread rule: one thread; nothing here switches. Invariant: a topology never changes once
// attached, except its plan.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "comm/comm.h"
#include "comm/extras.h"

namespace fgmpi::comm {

/// What a user of the topology caches with it (src/coll: the edges of the collocated members).
struct TopologyPlan {
  virtual ~TopologyPlan() = default;
  virtual size_t bytes() const = 0;
};

struct Topology {
  enum class Kind : uint8_t { kCart, kGraph, kDistGraph } kind;
  std::vector<int32_t> dims;
  std::vector<uint8_t> periods;
  std::vector<int32_t> index, edges;
  std::shared_ptr<TopologyPlan> plan = nullptr;  ///< made on first use

  size_t bytes() const {
    return sizeof *this + dims.capacity() * 4 + periods.capacity() +
           (index.capacity() + edges.capacity()) * 4 + (plan ? plan->bytes() : 0);
  }
};

/// Lists the neighbours of a member in the order of MPI_Neighbor_allgather (section 8.6), with
/// MPI_PROC_NULL where a grid ends. REQUIRES: the communicator has a topology.
void neighbors_of(const Comm* comm, std::vector<int32_t>* sources,
                  std::vector<int32_t>* destinations);
/// Counts the neighbours without listing them.
void count_neighbors(const Comm* comm, int64_t* sources, int64_t* destinations);

/// The map from rank in a grid of `dims` to rank in `comm` by which each process hosts a compact
/// sub-grid instead of consecutive ranks. Collocated neighbours exchange without a message between
/// processes, so only the number of faces between sub-grids counts. The result is the identity
/// where processes do not host equally many consecutive ranks, or no sub-grid of that size has
/// fewer faces than the row-major slab.
RankMap cart_order(SharedComm* comm, std::span<const int32_t> dims);
/// The sub-grid that cart_order() gives a process of `members` ranks, or empty for row-major slabs.
std::vector<int32_t> cart_tile(std::span<const int32_t> dims, int64_t members);

/// One edge of a distributed graph as a member contributes it.
struct Edge {
  int32_t source, destination, weight;
};
/// Sends every edge to the members at its two ends, whichever member contributed it. A member gets
/// its edges in the order of the contributors' ranks. Collective over comm; may switch.
Status exchange_edges(Comm* comm, std::vector<Edge> edges, bool weighted, const char* call,
                      Neighbors* out);

/// Product of the dimensions (1 for none), or -1 when it exceeds 2^31-1.
int64_t cart_size(std::span<const int32_t> dims);
/// Coordinates of a rank. REQUIRES: coords.size() == dims.size().
void cart_coords(const Topology& t, int32_t rank, std::span<int32_t> coords);
/// Rank of coordinates, wrapped in periodic dimensions; -1 when a coordinate is out of range in
/// another dimension.
int32_t cart_rank(const Topology& t, std::span<const int32_t> coords);
/// The rank `displacement` steps away in a dimension, or MPI_PROC_NULL.
int32_t cart_neighbor(const Topology& t, int32_t rank, int dimension, int displacement);
/// Fills the dimensions that are 0 so that the product is `nodes` and they are as equal as
/// possible, not increasing. Errors: MPI_ERR_DIMS, MPI_ERR_ARG.
Status dims_create(int32_t nodes, std::span<int32_t> dims);

}  // namespace fgmpi::comm
