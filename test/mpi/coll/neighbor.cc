// Neighbourhood collectives on grids (periodic dimensions of one and two members included), graphs
// and distributed graphs with parallel edges, against what the neighbours must have sent.
#include "coll_data.h"

namespace {

struct Net {
  MPI_Comm comm;
  int rank;
  std::vector<int> sources, destinations;
  bool grid;
};

/// The number among s's edges to d that arrives as the j-th edge of d, which comes from s.
int out_index(const Net& net, int j, const std::vector<int>& destinations_of_source) {
  if (net.grid) return j ^ 1;
  int nth = 0;
  for (int k = 0; k < j; ++k)
    nth += net.sources[static_cast<size_t>(k)] == net.sources[static_cast<size_t>(j)];
  for (size_t k = 0; k < destinations_of_source.size(); ++k)
    if (destinations_of_source[k] == net.rank && nth-- == 0) return static_cast<int>(k);
  CHECK(false);
  return -1;
}

/// destinations_of(rank): every rank can tell every other's, as these nets are computed.
template <class F>
void test(const Net& net, F&& destinations_of) {
  int in = static_cast<int>(net.sources.size()), out = static_cast<int>(net.destinations.size());
  for (int n : {0, 1, 40}) {
    for (int mode = 0; mode < 2; ++mode) {
      std::vector<int64_t> one(static_cast<size_t>(n)), many(static_cast<size_t>(n * in), -1),
          parts(static_cast<size_t>(n * out));
      for (int i = 0; i < n; ++i) one[static_cast<size_t>(i)] = element(9, net.rank, 0, i);
      for (int k = 0; k < out; ++k)
        for (int i = 0; i < n; ++i)
          parts[static_cast<size_t>(k * n + i)] = element(10, net.rank, k, i);
      MPI_Request request = MPI_REQUEST_NULL;
      if (mode == 0)
        OK(MPI_Neighbor_allgather(one.data(), n, MPI_INT64_T, many.data(), n, MPI_INT64_T,
                                  net.comm));
      else
        OK(MPI_Ineighbor_allgather(one.data(), n, MPI_INT64_T, many.data(), n, MPI_INT64_T,
                                   net.comm, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      for (int j = 0; j < in; ++j)
        for (int i = 0; i < n; ++i) {
          int s = net.sources[static_cast<size_t>(j)];
          CHECK(many[static_cast<size_t>(j * n + i)] ==
                (s == MPI_PROC_NULL ? -1 : element(9, s, 0, i)));
        }

      auto check_parts = [&](const std::vector<int64_t>& got, int stride) {
        for (int j = 0; j < in; ++j) {
          int s = net.sources[static_cast<size_t>(j)];
          int k = s == MPI_PROC_NULL ? 0 : out_index(net, j, destinations_of(s));
          for (int i = 0; i < n; ++i)
            CHECK(got[static_cast<size_t>(j * stride + i)] ==
                  (s == MPI_PROC_NULL ? -1 : element(10, s, k, i)));
        }
      };
      std::fill(many.begin(), many.end(), -1);
      if (mode == 0)
        OK(MPI_Neighbor_alltoall(parts.data(), n, MPI_INT64_T, many.data(), n, MPI_INT64_T,
                                 net.comm));
      else
        OK(MPI_Neighbor_alltoall_init(parts.data(), n, MPI_INT64_T, many.data(), n, MPI_INT64_T,
                                      net.comm, MPI_INFO_NULL, &request));
      if (mode == 1) {
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Request_free(&request));
      }
      check_parts(many, n);

      std::vector<int> out_counts(static_cast<size_t>(out), n),
          in_counts(static_cast<size_t>(in), n);
      std::vector<int> out_at, in_at;
      std::vector<MPI_Aint> out_bytes, in_bytes;
      for (int k = 0; k < out; ++k) out_at.push_back(k * n), out_bytes.push_back(8 * k * n);
      for (int j = 0; j < in; ++j)
        in_at.push_back(j * (n + 1)), in_bytes.push_back(8 * j * (n + 1));
      std::vector<MPI_Datatype> out_types(static_cast<size_t>(out), MPI_INT64_T),
          in_types(static_cast<size_t>(in), MPI_INT64_T);
      std::vector<int64_t> spread(static_cast<size_t>(in * (n + 1) + 1), -1);
      if (mode == 0)
        OK(MPI_Neighbor_alltoallv(parts.data(), out_counts.data(), out_at.data(), MPI_INT64_T,
                                  spread.data(), in_counts.data(), in_at.data(), MPI_INT64_T,
                                  net.comm));
      else
        OK(MPI_Neighbor_alltoallw(parts.data(), out_counts.data(), out_bytes.data(),
                                  out_types.data(), spread.data(), in_counts.data(),
                                  in_bytes.data(), in_types.data(), net.comm));
      check_parts(spread, n + 1);
      std::fill(spread.begin(), spread.end(), -1);
      OK(MPI_Neighbor_allgatherv(one.data(), n, MPI_INT64_T, spread.data(), in_counts.data(),
                                 in_at.data(), MPI_INT64_T, net.comm));
      for (int j = 0; j < in; ++j)
        for (int i = 0; i < n; ++i) {
          int s = net.sources[static_cast<size_t>(j)];
          CHECK(spread[static_cast<size_t>(j * (n + 1) + i)] ==
                (s == MPI_PROC_NULL ? -1 : element(9, s, 0, i)));
        }
    }
  }
}

void test_grid(int size, std::vector<int> dims, std::vector<int> periods) {
  int nodes = 1;
  for (int d : dims) nodes *= d;
  if (nodes > size) return;
  Net net{MPI_COMM_NULL, 0, {}, {}, true};
  OK(MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(dims.size()), dims.data(), periods.data(), 1,
                     &net.comm));
  if (net.comm == MPI_COMM_NULL) return;
  OK(MPI_Comm_rank(net.comm, &net.rank));
  for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
    int below, above;
    OK(MPI_Cart_shift(net.comm, d, 1, &below, &above));
    net.sources.push_back(below);
    net.sources.push_back(above);
  }
  net.destinations = net.sources;
  test(net, [](int) { return std::vector<int>(); });
  OK(MPI_Comm_free(&net.comm));
}

/// Rank r sends to r+1 twice, to r+3 and to itself.
std::vector<int> ring(int r, int size) {
  return {(r + 1) % size, (r + 3) % size, r, (r + 1) % size};
}

void test_dist_graph(int rank, int size) {
  Net net{MPI_COMM_NULL, rank, {}, {}, false};
  net.destinations = ring(rank, size);
  for (int back : {3, 0, 1, 1}) net.sources.push_back((rank + 4 * size - back) % size);
  OK(MPI_Dist_graph_create_adjacent(
      MPI_COMM_WORLD, static_cast<int>(net.sources.size()), net.sources.data(), MPI_UNWEIGHTED,
      static_cast<int>(net.destinations.size()), net.destinations.data(), MPI_UNWEIGHTED,
      MPI_INFO_NULL, 0, &net.comm));
  test(net, [&](int s) { return ring(s, size); });
  OK(MPI_Comm_free(&net.comm));
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  test_grid(size, {1}, {1});
  test_grid(size, {2}, {1});
  test_grid(size, {size}, {0});
  test_grid(size, {size, 1}, {1, 1});
  test_grid(size, {2, 2}, {1, 1});
  if (size > 1) test_grid(size, {2, size / 2}, {1, 0});
  test_grid(size, {3, 2, 2}, {1, 1, 0});
  if (size >= 5) test_dist_graph(rank, size);
  return finish();
}
