// The sources and destinations of a communicator's neighbourhood collectives (MPI-4.0 section 8.6).
#include "check/call.h"

namespace fgmpi::check {
namespace {

void of_grid(MPI_Comm comm, Neighbours* n) {
  int dims = 0;
  g_next.MPI_Cartdim_get(comm, &dims);
  for (int d = 0; d < dims; ++d) {
    int before = MPI_PROC_NULL, after = MPI_PROC_NULL;
    g_next.MPI_Cart_shift(comm, d, 1, &before, &after);
    n->sources.insert(n->sources.end(), {before, after});
  }
  n->destinations = n->sources;
}

void of_graph(MPI_Comm comm, int rank, Neighbours* n) {
  int count = 0;
  g_next.MPI_Graph_neighbors_count(comm, rank, &count);
  n->sources.resize(static_cast<size_t>(count));
  g_next.MPI_Graph_neighbors(comm, rank, count, n->sources.data());
  n->destinations = n->sources;
}

void of_distributed_graph(MPI_Comm comm, Neighbours* n) {
  int in = 0, out = 0, weighted = 0;
  g_next.MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  n->sources.resize(static_cast<size_t>(in));
  n->destinations.resize(static_cast<size_t>(out));
  std::vector<int> weights(static_cast<size_t>(in)), more(static_cast<size_t>(out));
  g_next.MPI_Dist_graph_neighbors(comm, in, n->sources.data(), weights.data(), out,
                                  n->destinations.data(), more.data());
}

}  // namespace

const Neighbours& neighbours_of(MPI_Comm comm, OwnComm* own) {
  if (own->neighbours) return *own->neighbours;
  auto made = std::make_shared<Neighbours>();
  int topology = MPI_UNDEFINED;
  g_next.MPI_Topo_test(comm, &topology);
  if (topology == MPI_CART) of_grid(comm, made.get());
  if (topology == MPI_GRAPH) of_graph(comm, own->rank, made.get());
  if (topology == MPI_DIST_GRAPH) of_distributed_graph(comm, made.get());
  own->neighbours = made;
  return *made;
}

int64_t parts_of(const CheckedCall& call, bool sends, OwnComm* own,
                 const std::vector<int>** others) {
  const CheckedComm& c = *own->comm;
  if (call.info().collective != Collective::kNeighbor)
    return c.inter ? static_cast<int64_t>(c.remote.size()) : c.size;
  if (c.inter) return 0;
  const Neighbours& all = neighbours_of(static_cast<MPI_Comm>(call.value(&Positions::comm)), own);
  *others = sends ? &all.destinations : &all.sources;
  return static_cast<int64_t>((*others)->size());
}

}  // namespace fgmpi::check
