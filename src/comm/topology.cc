// Cartesian coordinates and neighbours, neighbour lists of graphs, and the choice of dimensions.

#include "comm/topology.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "comm/hierarchy.h"

namespace fgmpi::comm {

int64_t cart_size(std::span<const int32_t> dims) {
  int64_t n = 1;
  for (int32_t d : dims) {
    n *= d;
    if (n > INT32_MAX) return -1;
  }
  return n;
}

void cart_coords(const Topology& t, int32_t rank, std::span<int32_t> coords) {
  for (size_t i = t.dims.size(); i-- > 0; rank /= t.dims[i]) coords[i] = rank % t.dims[i];
}

int32_t cart_rank(const Topology& t, std::span<const int32_t> coords) {
  int32_t rank = 0;
  for (size_t i = 0; i < t.dims.size(); ++i) {
    int32_t c = coords[i];
    if (c < 0 || c >= t.dims[i]) {
      if (!t.periods[i]) return -1;
      c %= t.dims[i];
      if (c < 0) c += t.dims[i];
    }
    rank = rank * t.dims[i] + c;
  }
  return rank;
}

int32_t cart_neighbor(const Topology& t, int32_t rank, int dimension, int displacement) {
  int32_t below = 1;
  for (size_t i = static_cast<size_t>(dimension) + 1; i < t.dims.size(); ++i) below *= t.dims[i];
  int32_t extent = t.dims[static_cast<size_t>(dimension)];
  int32_t coordinate = rank / below % extent;
  int64_t moved = int64_t{coordinate} + displacement;
  if (moved < 0 || moved >= extent) {
    if (!t.periods[static_cast<size_t>(dimension)]) return MPI_PROC_NULL;
    moved %= extent;
    if (moved < 0) moved += extent;
  }
  return rank + static_cast<int32_t>(moved - coordinate) * below;
}

void neighbors_of(const Comm* comm, std::vector<int32_t>* sources,
                  std::vector<int32_t>* destinations) {
  const Topology& t = *comm->shared->topology;
  sources->clear();
  switch (t.kind) {
    case Topology::Kind::kCart:
      for (size_t i = 0; i < t.dims.size(); ++i)
        for (int step : {-1, 1})
          sources->push_back(cart_neighbor(t, comm->rank, static_cast<int>(i), step));
      break;
    case Topology::Kind::kGraph: {
      auto rank = static_cast<size_t>(comm->rank);
      int32_t first = rank ? t.index[rank - 1] : 0;
      sources->assign(t.edges.begin() + first, t.edges.begin() + t.index[rank]);
      break;
    }
    case Topology::Kind::kDistGraph:
      *sources = comm->extras->neighbors->sources;
      *destinations = comm->extras->neighbors->destinations;
      return;
  }
  *destinations = *sources;
}

void count_neighbors(const Comm* comm, int64_t* sources, int64_t* destinations) {
  const Topology& t = *comm->shared->topology;
  switch (t.kind) {
    case Topology::Kind::kCart:
      *sources = 2 * static_cast<int64_t>(t.dims.size());
      break;
    case Topology::Kind::kGraph: {
      auto rank = static_cast<size_t>(comm->rank);
      *sources = t.index[rank] - (rank ? t.index[rank - 1] : 0);
      break;
    }
    case Topology::Kind::kDistGraph:
      *sources = static_cast<int64_t>(comm->extras->neighbors->sources.size());
      *destinations = static_cast<int64_t>(comm->extras->neighbors->destinations.size());
      return;
  }
  *destinations = *sources;
}

// ---- Reordering ---------------------------------------------------------------------------------
// A process's sub-grid t0 x t1 x ... (ti divides dims[i], product = ranks a process) has 2 *
// sum(volume / ti) faces to other sub-grids, without the dimensions that it spans fully.
// Row-major order gives the same formula with t = (1, .., 1, k, full, ..). The tile with the
// fewest faces wins.

namespace {

int64_t faces(std::span<const int32_t> dims, std::span<const int32_t> tile, int64_t volume) {
  int64_t sum = 0;
  for (size_t i = 0; i < dims.size(); ++i)
    if (tile[i] < dims[i]) sum += volume / tile[i];
  return sum;
}

}  // namespace

std::vector<int32_t> cart_tile(std::span<const int32_t> dims, int64_t members) {
  std::vector<int32_t> tile(dims.size(), 1), best;
  // Row-major order fills full dimensions from the last on. A slab that is no sub-grid is counted
  // as the next larger sub-grid.
  int64_t left = members;
  for (size_t i = dims.size(); i-- > 0 && left > 1;) {
    tile[i] = static_cast<int32_t>(std::min<int64_t>(left, dims[i]));
    left = (left + dims[i] - 1) / dims[i];
  }
  int64_t least = faces(dims, tile, members);
  std::function<void(size_t, int64_t)> try_from = [&](size_t i, int64_t rest) {
    if (i == dims.size()) {
      if (rest != 1) return;
      int64_t f = faces(dims, tile, members);
      if (f >= least) return;
      least = f;
      best = tile;
      return;
    }
    for (int32_t t = 1; t <= dims[i] && t <= rest; ++t) {
      if (dims[i] % t != 0 || rest % t != 0) continue;
      tile[i] = t;
      try_from(i + 1, rest / t);
    }
  };
  try_from(0, members);
  return best;
}

RankMap cart_order(SharedComm* comm, std::span<const int32_t> dims) {
  auto size = static_cast<int32_t>(cart_size(dims));
  RankMap identity = RankMap::direct(size);
  if (comm->processes == 1 || size != comm->size || comm->map.size() == 0) return identity;
  const Hierarchy& h = hierarchy(comm);
  if (!h.one_run_each) return identity;
  uint32_t members = h.members(comm->map, 0);
  for (uint32_t i = 1; i < h.count(); ++i)
    if (h.members(comm->map, i) != members) return identity;
  std::vector<int32_t> tile = cart_tile(dims, members);
  if (tile.empty()) return identity;
  // Maps a rank in the grid to (tile, index in the tile), both row-major. The k-th tile has ranks
  // k * members and on of comm.
  std::vector<int32_t> order(static_cast<size_t>(size)), at(dims.size());
  for (int32_t& rank : order) {
    int64_t block = 0, place = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      block = block * (dims[i] / tile[i]) + at[i] / tile[i];
      place = place * tile[i] + at[i] % tile[i];
    }
    rank = static_cast<int32_t>(block * members + place);
    for (size_t i = dims.size(); i-- > 0 && ++at[i] == dims[i];) at[i] = 0;
  }
  return RankMap::from_ranks(order);
}

// ---- Dims_create --------------------------------------------------------------------------------

namespace {

/// Finds non-increasing factors of n with the smallest difference between the largest and the
/// smallest. Among these it prefers those with the fewest neighbours across the faces of the grid
/// (the smallest sum of n / factor), as MPICH does.
class Factors {
 public:
  Factors(int32_t n, size_t count) : n_(n), current_(count) {
    for (int32_t d = 1; int64_t{d} * d <= n; ++d) {
      if (n % d != 0) continue;
      divisors_.push_back(d);
      if (d != n / d) divisors_.push_back(n / d);
    }
    std::sort(divisors_.begin(), divisors_.end());
    search(0, n, n);
  }
  const std::vector<int32_t>& best() const { return best_; }

 private:
  void search(size_t i, int32_t rest, int32_t most) {
    if (i + 1 == current_.size()) {
      if (rest > most) return;
      current_[i] = rest;
      int64_t spread = current_[0] - rest, faces = 0;
      for (int32_t factor : current_) faces += n_ / factor;
      if (!best_.empty() && std::pair(spread, faces) >= std::pair(best_spread_, best_faces_))
        return;
      best_spread_ = spread;
      best_faces_ = faces;
      best_ = current_;
      return;
    }
    double root = std::pow(rest, 1.0 / static_cast<double>(current_.size() - i));
    auto from =
        std::lower_bound(divisors_.begin(), divisors_.end(), static_cast<int32_t>(root - 1e-6));
    for (auto d = from; d != divisors_.end() && *d <= most; ++d) {
      if (rest % *d != 0) continue;
      // All further factors are at most the equal share, so this one is too large to beat the best.
      if (i == 0 && !best_.empty() && *d - static_cast<int32_t>(root + 1e-6) > best_spread_) break;
      current_[i] = *d;
      search(i + 1, rest / *d, *d);
    }
  }
  int32_t n_;
  std::vector<int32_t> divisors_, current_, best_;
  int64_t best_spread_ = 0, best_faces_ = 0;
};

}  // namespace

Status dims_create(int32_t nodes, std::span<int32_t> dims) {
  if (nodes < 1) return error(MPI_ERR_ARG, "nnodes is %d; allowed is 1 or more", nodes);
  int64_t fixed = 1;
  size_t open = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0)
      return error(MPI_ERR_DIMS, "dims[%zu] is %d; allowed is 0 (to be chosen) or more", i,
                   dims[i]);
    if (dims[i] == 0)
      ++open;
    else if (fixed <= INT32_MAX)
      fixed *= dims[i];
  }
  if (fixed > nodes || nodes % fixed != 0 || (open == 0 && fixed != nodes))
    return error(MPI_ERR_DIMS,
                 "the given dimensions multiply to %lld; allowed are %s of nnodes = %d",
                 static_cast<long long>(fixed), open == 0 ? "exactly those" : "divisors", nodes);
  if (open == 0) return {};
  Factors factors(static_cast<int32_t>(nodes / fixed), open);
  size_t k = 0;
  for (int32_t& d : dims)
    if (d == 0) d = factors.best()[k++];
  return {};
}

}  // namespace fgmpi::comm
