// Graph and distributed graph topologies (MPI-4.0 sections 8.5.3 to 8.5.5).

#include <algorithm>

#include "host/host.h"
#include "mpi/calls.h"
#include "mpi/comm/topo_common.h"

namespace fgmpi::mpi {
namespace {

constexpr auto kGraph = comm::Topology::Kind::kGraph;
constexpr auto kDistGraph = comm::Topology::Kind::kDistGraph;

Status check_graph(const comm::Comm* c, int nnodes, const int index[], const int edges[]) {
  if (nnodes < 0 || nnodes > c->size())
    return error(MPI_ERR_ARG, "nnodes is %d; allowed is 0 to the size of comm, %d", nnodes,
                 c->size());
  if (nnodes > 0) FGMPI_TRY(check_pointer(index, "index"));
  int before = 0;
  for (int i = 0; i < nnodes; before = index[i++])
    if (index[i] < before)
      return error(MPI_ERR_ARG, "index[%d] is %d; allowed is %d or more", i, index[i], before);
  if (before > 0) FGMPI_TRY(check_pointer(edges, "edges"));
  for (int k = 0; k < before; ++k)
    if (edges[k] < 0 || edges[k] >= nnodes)
      return error(MPI_ERR_ARG, "edges[%d] is %d; allowed is 0 to %d", k, edges[k], nnodes - 1);
  return {};
}

Status check_ranks(const comm::Comm* c, int n, const int ranks[], const char* what) {
  if (n < 0) return error(MPI_ERR_ARG, "the number of %s is %d; allowed is 0 or more", what, n);
  if (n > 0) FGMPI_TRY(check_pointer(ranks, what));
  for (int i = 0; i < n; ++i)
    if (ranks[i] < 0 || ranks[i] >= c->size())
      return error(MPI_ERR_RANK, "%s[%d] is %d; allowed is 0 to %d", what, i, ranks[i],
                   c->size() - 1);
  return {};
}

/// Makes a duplicate of c's group with these neighbours: every member gets one, no rank changes.
Status create_dist(const char* call, comm::Comm* c, std::unique_ptr<comm::Neighbors> neighbors,
                   comm::Comm** newcomm) {
  return create_with(call, c, RankMap::direct(c->size()), {kDistGraph, {}, {}, {}, {}}, newcomm,
                     std::move(neighbors));
}

/// Checks weights: an array, or MPI_UNWEIGHTED for none, and MPI_WEIGHTS_EMPTY for an empty list.
bool weighted(const int weights[]) { return !host::is_unweighted(weights); }
std::vector<int32_t> list_of(const int values[], int n) {
  return n > 0 ? std::vector<int32_t>(values, values + n) : std::vector<int32_t>();
}

/// The edges of one rank of a graph.
std::span<const int32_t> edges_of(const comm::Topology& t, int rank) {
  auto r = static_cast<size_t>(rank);
  int32_t first = r ? t.index[r - 1] : 0;
  return {t.edges.data() + first, static_cast<size_t>(t.index[r] - first)};
}

}  // namespace

Status graph_create(comm::Comm* c, int nnodes, const int index[], const int edges[], int,
                    comm::Comm** newcomm) {
  FGMPI_TRY(check_intra(c));
  FGMPI_TRY(check_graph(c, nnodes, index, edges));
  comm::Topology t{kGraph, {}, {}, list_of(index, nnodes), {}};
  if (nnodes > 0) t.edges = list_of(edges, index[nnodes - 1]);
  return create_with("MPI_Graph_create", c, RankMap::direct(nnodes), std::move(t), newcomm);
}

Status graph_map(comm::Comm* c, int nnodes, const int index[], const int edges[], int* newrank) {
  FGMPI_TRY(check_graph(c, nnodes, index, edges));
  *newrank = c->rank < nnodes ? c->rank : MPI_UNDEFINED;
  return {};
}

Status graphdims_get(comm::Comm* c, int* nnodes, int* nedges) {
  FGMPI_TRY(need_topology(c, kGraph, "graph"));
  *nnodes = static_cast<int>(c->shared->topology->index.size());
  *nedges = static_cast<int>(c->shared->topology->edges.size());
  return {};
}

Status graph_get(comm::Comm* c, int maxindex, int maxedges, int index[], int edges[]) {
  FGMPI_TRY(need_topology(c, kGraph, "graph"));
  const comm::Topology& t = *c->shared->topology;
  if (maxindex < static_cast<int>(t.index.size()) || maxedges < static_cast<int>(t.edges.size()))
    return error(MPI_ERR_ARG, "maxindex is %d and maxedges %d; allowed are at least %zu and %zu",
                 maxindex, maxedges, t.index.size(), t.edges.size());
  std::copy(t.index.begin(), t.index.end(), index);
  std::copy(t.edges.begin(), t.edges.end(), edges);
  return {};
}

Status graph_neighbors_count(comm::Comm* c, int rank, int* nneighbors) {
  FGMPI_TRY(need_topology(c, kGraph, "graph"));
  *nneighbors = static_cast<int>(edges_of(*c->shared->topology, rank).size());
  return {};
}

Status graph_neighbors(comm::Comm* c, int rank, int maxneighbors, int neighbors[]) {
  FGMPI_TRY(need_topology(c, kGraph, "graph"));
  auto edges = edges_of(*c->shared->topology, rank);
  if (maxneighbors < static_cast<int>(edges.size()))
    return error(MPI_ERR_ARG, "maxneighbors is %d; allowed is %zu or more", maxneighbors,
                 edges.size());
  std::copy(edges.begin(), edges.end(), neighbors);
  return {};
}

Status dist_graph_create_adjacent(comm::Comm* c, int indegree, const int sources[],
                                  const int sourceweights[], int outdegree,
                                  const int destinations[], const int destweights[], MPI_Info, int,
                                  comm::Comm** newcomm) {
  FGMPI_TRY(check_intra(c));
  FGMPI_TRY(check_ranks(c, indegree, sources, "sources"));
  FGMPI_TRY(check_ranks(c, outdegree, destinations, "destinations"));
  auto n = std::make_unique<comm::Neighbors>();
  n->sources = list_of(sources, indegree);
  n->destinations = list_of(destinations, outdegree);
  n->weighted = weighted(sourceweights) && weighted(destweights);
  if (n->weighted) {
    n->source_weights = list_of(sourceweights, indegree);
    n->destination_weights = list_of(destweights, outdegree);
  }
  return create_dist("MPI_Dist_graph_create_adjacent", c, std::move(n), newcomm);
}

Status dist_graph_create(comm::Comm* c, int n, const int sources[], const int degrees[],
                         const int destinations[], const int weights[], MPI_Info, int,
                         comm::Comm** newcomm) {
  FGMPI_TRY(check_intra(c));
  FGMPI_TRY(check_ranks(c, n, sources, "sources"));
  if (n > 0) FGMPI_TRY(check_pointer(degrees, "degrees"));
  std::vector<comm::Edge> edges;
  for (int i = 0, k = 0; i < n; ++i) {
    if (degrees[i] < 0)
      return error(MPI_ERR_ARG, "degrees[%d] is %d; allowed is 0 or more", i, degrees[i]);
    FGMPI_TRY(check_ranks(c, degrees[i], destinations + k, "destinations"));
    for (int j = 0; j < degrees[i]; ++j, ++k)
      edges.push_back({sources[i], destinations[k], weighted(weights) ? weights[k] : 0});
  }
  auto neighbors = std::make_unique<comm::Neighbors>();
  FGMPI_TRY(comm::exchange_edges(c, std::move(edges), weighted(weights), "MPI_Dist_graph_create",
                                 neighbors.get()));
  return create_dist("MPI_Dist_graph_create", c, std::move(neighbors), newcomm);
}

Status dist_graph_neighbors_count(comm::Comm* c, int* indegree, int* outdegree, int* weights) {
  FGMPI_TRY(need_topology(c, kDistGraph, "distributed graph"));
  const comm::Neighbors& n = *c->extras->neighbors;
  *indegree = static_cast<int>(n.sources.size());
  *outdegree = static_cast<int>(n.destinations.size());
  *weights = n.weighted;
  return {};
}

Status dist_graph_neighbors(comm::Comm* c, int maxindegree, int sources[], int sourceweights[],
                            int maxoutdegree, int destinations[], int destweights[]) {
  FGMPI_TRY(need_topology(c, kDistGraph, "distributed graph"));
  if (maxindegree < 0 || maxoutdegree < 0)
    return error(MPI_ERR_ARG, "maxindegree is %d and maxoutdegree %d; allowed is 0 or more",
                 maxindegree, maxoutdegree);
  const comm::Neighbors& n = *c->extras->neighbors;
  auto copy = [](const std::vector<int32_t>& from, int most, int to[]) {
    std::copy_n(from.begin(), std::min(from.size(), static_cast<size_t>(most)), to);
  };
  copy(n.sources, maxindegree, sources);
  copy(n.destinations, maxoutdegree, destinations);
  if (n.weighted && weighted(sourceweights)) copy(n.source_weights, maxindegree, sourceweights);
  if (n.weighted && weighted(destweights)) copy(n.destination_weights, maxoutdegree, destweights);
  return {};
}

}  // namespace fgmpi::mpi
