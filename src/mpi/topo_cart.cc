// Cartesian topologies (MPI-4.0 sections 8.5.1, 8.5.2, 8.5.5, 8.5.6).

#include "comm/create.h"
#include "mpi/topo_common.h"

namespace fgmpi::mpi {

int create_with(const char* call, comm::Comm* c, const RankMap& order, comm::Topology topology,
                MPI_Comm* newcomm, std::unique_ptr<comm::Neighbors> neighbors) {
  *newcomm = MPI_COMM_NULL;
  comm::Comm* made = nullptr;
  FGMPI_RETURN_IF(call, c, comm::create(c, RankMap::compose(c->shared->map, order), &made, call));
  if (!made) return MPI_SUCCESS;
  // Every member brings the same topology; the first one's is kept for all of the process.
  if (!made->shared->topology)
    made->shared->topology = std::make_shared<comm::Topology>(std::move(topology));
  if (neighbors) comm::extras(made).neighbors = std::move(neighbors);
  *newcomm = made->handle;
  return MPI_SUCCESS;
}

namespace {

std::span<const int32_t> span_of(const int values[], int n) {
  return {values, static_cast<size_t>(n)};
}

/// Dimensions of a grid that fits the communicator.
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

}  // namespace
}  // namespace fgmpi::mpi

using namespace fgmpi;

FGMPI_EXPORT(MPI_Cart_create);
int PMPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder,
                     MPI_Comm* newcomm) {
  if (newcomm) *newcomm = MPI_COMM_NULL;
  constexpr const char* kCall = "MPI_Cart_create";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(newcomm, "newcomm"));
  FGMPI_RETURN_IF(kCall, c, mpi::check_intra(c));
  FGMPI_RETURN_IF(kCall, c, mpi::check_grid(c, ndims, dims));
  if (ndims > 0) FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(periods, "periods"));
  auto grid = mpi::span_of(dims, ndims);
  RankMap order = reorder ? comm::cart_order(c->shared, grid)
                          : RankMap::direct(static_cast<int32_t>(comm::cart_size(grid)));
  return mpi::create_with(kCall, c, order, mpi::cart_of(ndims, dims, periods), newcomm);
}

FGMPI_EXPORT(MPI_Cart_map);
int PMPI_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int[], int* newrank) {
  constexpr const char* kCall = "MPI_Cart_map";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(newrank, "newrank"));
  FGMPI_RETURN_IF(kCall, c, mpi::check_grid(c, ndims, dims));
  int rank = comm::cart_order(c->shared, mpi::span_of(dims, ndims)).rank_of(c->rank);
  *newrank = rank < 0 ? MPI_UNDEFINED : rank;
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Cart_sub);
int PMPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm) {
  if (newcomm) *newcomm = MPI_COMM_NULL;
  constexpr const char* kCall = "MPI_Cart_sub";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(newcomm, "newcomm"));
  FGMPI_RETURN_IF(kCall, c, mpi::need_cart(c));
  const comm::Topology& t = *c->shared->topology;
  if (!t.dims.empty()) FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(remain_dims, "remain_dims"));
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
  comm::Comm* made = nullptr;
  Status status = comm::split(c, color, key, &made);
  if (made && !made->shared->topology)
    made->shared->topology = std::make_shared<comm::Topology>(std::move(sub));
  return mpi::give(kCall, c, status, made, newcomm);
}

FGMPI_EXPORT(MPI_Cartdim_get);
int PMPI_Cartdim_get(MPI_Comm comm, int* ndims) {
  constexpr const char* kCall = "MPI_Cartdim_get";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(ndims, "ndims"));
  FGMPI_RETURN_IF(kCall, c, mpi::need_cart(c));
  *ndims = static_cast<int>(c->shared->topology->dims.size());
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Cart_get);
int PMPI_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]) {
  constexpr const char* kCall = "MPI_Cart_get";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::need_cart(c));
  const comm::Topology& t = *c->shared->topology;
  if (maxdims < static_cast<int>(t.dims.size()))
    return mpi::fail(
        kCall, c,
        error(MPI_ERR_ARG, "maxdims is %d; allowed is %zu or more", maxdims, t.dims.size()));
  for (size_t i = 0; i < t.dims.size(); ++i) {
    dims[i] = t.dims[i];
    periods[i] = t.periods[i];
  }
  comm::cart_coords(t, c->rank, {coords, t.dims.size()});
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Cart_rank);
int PMPI_Cart_rank(MPI_Comm comm, const int coords[], int* rank) {
  constexpr const char* kCall = "MPI_Cart_rank";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(rank, "rank"));
  FGMPI_RETURN_IF(kCall, c, mpi::need_cart(c));
  const comm::Topology& t = *c->shared->topology;
  if (!t.dims.empty()) FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(coords, "coords"));
  *rank = comm::cart_rank(t, {coords, t.dims.size()});
  if (*rank >= 0) return MPI_SUCCESS;
  size_t i = 0;
  while (t.periods[i] || (coords[i] >= 0 && coords[i] < t.dims[i])) ++i;
  return mpi::fail(
      kCall, c,
      error(MPI_ERR_ARG, "coords[%zu] is %d; allowed is 0 to %d, as the dimension is not periodic",
            i, coords[i], t.dims[i] - 1));
}

FGMPI_EXPORT(MPI_Cart_coords);
int PMPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[]) {
  constexpr const char* kCall = "MPI_Cart_coords";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::need_cart(c));
  FGMPI_RETURN_IF(kCall, c, mpi::check_member(c, rank));
  const comm::Topology& t = *c->shared->topology;
  if (maxdims < static_cast<int>(t.dims.size()))
    return mpi::fail(
        kCall, c,
        error(MPI_ERR_ARG, "maxdims is %d; allowed is %zu or more", maxdims, t.dims.size()));
  if (!t.dims.empty()) FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(coords, "coords"));
  comm::cart_coords(t, rank, {coords, t.dims.size()});
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Cart_shift);
int PMPI_Cart_shift(MPI_Comm comm, int direction, int disp, int* rank_source, int* rank_dest) {
  constexpr const char* kCall = "MPI_Cart_shift";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(rank_source, "rank_source"));
  FGMPI_RETURN_IF(kCall, c, mpi::check_pointer(rank_dest, "rank_dest"));
  FGMPI_RETURN_IF(kCall, c, mpi::need_cart(c));
  const comm::Topology& t = *c->shared->topology;
  if (direction < 0 || direction >= static_cast<int>(t.dims.size()))
    return mpi::fail(
        kCall, c,
        error(MPI_ERR_ARG, "direction is %d; allowed is 0 to %zu", direction, t.dims.size() - 1));
  *rank_source = comm::cart_neighbor(t, c->rank, direction, -disp);
  *rank_dest = comm::cart_neighbor(t, c->rank, direction, disp);
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Dims_create);
int PMPI_Dims_create(int nnodes, int ndims, int dims[]) {
  constexpr const char* kCall = "MPI_Dims_create";
  if (ndims < 0)
    return mpi::fail(kCall, nullptr,
                     error(MPI_ERR_DIMS, "ndims is %d; allowed is 0 or more", ndims));
  if (ndims > 0) FGMPI_RETURN_IF(kCall, nullptr, mpi::check_pointer(dims, "dims"));
  return mpi::done(kCall, nullptr, comm::dims_create(nnodes, {dims, static_cast<size_t>(ndims)}));
}

FGMPI_EXPORT(MPI_Topo_test);
int PMPI_Topo_test(MPI_Comm comm, int* status) {
  FGMPI_ENTER("MPI_Topo_test", c, comm);
  FGMPI_RETURN_IF("MPI_Topo_test", c, mpi::check_pointer(status, "status"));
  *status = MPI_UNDEFINED;
  if (!c->shared->topology) return MPI_SUCCESS;
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
  return MPI_SUCCESS;
}
