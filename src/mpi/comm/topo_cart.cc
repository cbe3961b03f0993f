// Cartesian topologies (MPI-4.0 sections 8.5.1, 8.5.2, 8.5.5, 8.5.6).

#include "comm/create.h"
#include "mpi/calls.h"
#include "mpi/comm/topo_common.h"

namespace fgmpi::mpi {

Status create_with(const char* call, comm::Comm* c, const RankMap& order, comm::Topology topology,
                   comm::Comm** newcomm, std::unique_ptr<comm::Neighbors> neighbors) {
  load_group_map(c);
  FGMPI_TRY(comm::create(c, RankMap::compose(c->shared->map, order), newcomm, call));
  comm::Comm* made = *newcomm;
  if (!made) return {};
  // Every member passes an equal topology; the process stores the first member's for all.
  if (!made->shared->topology)
    made->shared->topology = std::make_shared<comm::Topology>(std::move(topology));
  if (neighbors) comm::extras(made).neighbors = std::move(neighbors);
  return {};
}

namespace {

std::span<const int32_t> span_of(const int values[], int n) {
  return {values, static_cast<size_t>(n)};
}

/// Checks the dimensions of a grid: it must fit the communicator.
Status check_grid(const comm::Comm* c, int ndims, const int dims[]) {
  if (ndims < 0) return error(MPI_ERR_ARG, "ndims is %d; allowed is 0 or more", ndims);
  if (ndims > 0) FGMPI_TRY(check_pointer(dims, "dims"));
  for (int i = 0; i < ndims; ++i)
    if (dims[i] < 1) return error(MPI_ERR_DIMS, "dims[%d] is %d; allowed is 1 or more", i, dims[i]);
  int64_t n = comm::cart_size(span_of(dims, ndims));
  if (n < 0 || n > c->size())
    return error(MPI_ERR_ARG, "the grid has %lld places; allowed is at most the size of comm, %d",
                 static_cast<long long>(n), c->size());
  return {};
}

comm::Topology cart_of(int ndims, const int dims[], const int periods[]) {
  comm::Topology t{comm::Topology::Kind::kCart, {}, {}, {}, {}};
  t.dims.assign(dims, dims + ndims);
  for (int i = 0; i < ndims; ++i) t.periods.push_back(periods[i] != 0);
  return t;
}

/// Checks that a caller's arrays of `maxdims` entries hold the grid's dimensions.
Status check_room(const comm::Topology& t, int maxdims) {
  if (maxdims >= static_cast<int>(t.dims.size())) return {};
  return error(MPI_ERR_ARG, "maxdims is %d; allowed is %zu or more", maxdims, t.dims.size());
}

}  // namespace

Status cart_create(comm::Comm* c, int ndims, const int dims[], const int periods[], int reorder,
                   comm::Comm** newcomm) {
  FGMPI_TRY(check_intra(c));
  FGMPI_TRY(check_grid(c, ndims, dims));
  auto grid = span_of(dims, ndims);
  RankMap order = reorder ? comm::cart_order(c->shared, grid)
                          : RankMap::direct(static_cast<int32_t>(comm::cart_size(grid)));
  return create_with("MPI_Cart_create", c, order, cart_of(ndims, dims, periods), newcomm);
}

Status cart_map(comm::Comm* c, int ndims, const int dims[], const int[], int* newrank) {
  FGMPI_TRY(check_grid(c, ndims, dims));
  int rank = comm::cart_order(c->shared, span_of(dims, ndims)).rank_of(c->rank);
  *newrank = rank < 0 ? MPI_UNDEFINED : rank;
  return {};
}

Status cart_sub(comm::Comm* c, const int remain_dims[], comm::Comm** newcomm) {
  FGMPI_TRY(need_cart(c));
  const comm::Topology& t = *c->shared->topology;
  if (!t.dims.empty()) FGMPI_TRY(check_pointer(remain_dims, "remain_dims"));
  std::vector<int32_t> coords(t.dims.size());
  comm::cart_coords(t, c->rank, coords);
  comm::Topology sub{comm::Topology::Kind::kCart, {}, {}, {}, {}};
  int color = 0, key = 0;
  for (size_t i = 0; i < t.dims.size(); ++i) {
    if (remain_dims[i]) {
      key = key * t.dims[i] + coords[i];
      sub.dims.push_back(t.dims[i]);
      sub.periods.push_back(t.periods[i]);
    } else {
      color = color * t.dims[i] + coords[i];
    }
  }
  FGMPI_TRY(comm::split(c, color, key, newcomm));
  comm::SharedComm* shared = (*newcomm)->shared;
  if (!shared->topology) shared->topology = std::make_shared<comm::Topology>(std::move(sub));
  return {};
}

Status cartdim_get(comm::Comm* c, int* ndims) {
  FGMPI_TRY(need_cart(c));
  *ndims = static_cast<int>(c->shared->topology->dims.size());
  return {};
}

Status cart_get(comm::Comm* c, int maxdims, int dims[], int periods[], int coords[]) {
  FGMPI_TRY(need_cart(c));
  const comm::Topology& t = *c->shared->topology;
  FGMPI_TRY(check_room(t, maxdims));
  for (size_t i = 0; i < t.dims.size(); ++i) {
    dims[i] = t.dims[i];
    periods[i] = t.periods[i];
  }
  comm::cart_coords(t, c->rank, {coords, t.dims.size()});
  return {};
}

Status cart_rank(comm::Comm* c, const int coords[], int* rank) {
  FGMPI_TRY(need_cart(c));
  const comm::Topology& t = *c->shared->topology;
  if (!t.dims.empty()) FGMPI_TRY(check_pointer(coords, "coords"));
  *rank = comm::cart_rank(t, {coords, t.dims.size()});
  if (*rank >= 0) return {};
  size_t i = 0;
  while (t.periods[i] || (coords[i] >= 0 && coords[i] < t.dims[i])) ++i;
  return error(MPI_ERR_ARG,
               "coords[%zu] is %d; allowed is 0 to %d, as the dimension is not periodic", i,
               coords[i], t.dims[i] - 1);
}

Status cart_coords(comm::Comm* c, int rank, int maxdims, int coords[]) {
  FGMPI_TRY(need_cart(c));
  const comm::Topology& t = *c->shared->topology;
  FGMPI_TRY(check_room(t, maxdims));
  comm::cart_coords(t, rank, {coords, t.dims.size()});
  return {};
}

Status cart_shift(comm::Comm* c, int direction, int disp, int* rank_source, int* rank_dest) {
  FGMPI_TRY(need_cart(c));
  const comm::Topology& t = *c->shared->topology;
  if (direction < 0 || direction >= static_cast<int>(t.dims.size()))
    return error(MPI_ERR_ARG, "direction is %d; allowed is 0 to %zu", direction, t.dims.size() - 1);
  *rank_source = comm::cart_neighbor(t, c->rank, direction, -disp);
  *rank_dest = comm::cart_neighbor(t, c->rank, direction, disp);
  return {};
}

Status topo_test(comm::Comm* c, int* status) {
  *status = MPI_UNDEFINED;
  if (!c->shared->topology) return {};
  switch (c->shared->topology->kind) {
    case comm::Topology::Kind::kCart:
      *status = MPI_CART;
      break;
    case comm::Topology::Kind::kGraph:
      *status = MPI_GRAPH;
      break;
    case comm::Topology::Kind::kDistGraph:
      *status = MPI_DIST_GRAPH;
      break;
  }
  return {};
}

}  // namespace fgmpi::mpi
