// The neighbourhood collectives in all their forms on random grids, graphs and distributed graphs
// (neighbours named several times, edges to oneself, grids that end, periodic dimensions of one and
// two members, members without neighbours), against the point-to-point messages that they stand for
// (MPI-4.0 section 8.6).
//
//   neighbor_random [seed [rounds]]
#include "elements.h"
#include "forms.h"

namespace {

struct Net {
  MPI_Comm comm = MPI_COMM_NULL, messages = MPI_COMM_NULL;
  int rank = -1;
  bool grid = false;
  std::vector<int> sources, destinations;

  int in() const { return static_cast<int>(sources.size()); }
  int out() const { return static_cast<int>(destinations.size()); }
  /// Of the message on out-edge k, in-edge j. In a grid what goes down arrives from above;
  /// elsewhere messages of one pair match in order.
  int out_tag(int k) const { return grid ? 100 + (k ^ 1) : 7; }
  int in_tag(int j) const { return grid ? 100 + j : 7; }
};

/// Elements on each edge of one side, with a hole before each where they are uneven.
struct Edges {
  std::vector<int> counts, displs;
  int room = 0;
  void add(int n, int hole) {
    displs.push_back(room + hole);
    counts.push_back(n);
    room += n + hole;
  }
  std::vector<MPI_Count> wide_counts() const { return {counts.begin(), counts.end()}; }
  std::vector<MPI_Aint> wide_displs() const { return {displs.begin(), displs.end()}; }
};

enum class Form { kAllgather, kAllgatherv, kAlltoall, kAlltoallv, kAlltoallw };
constexpr int kForms = 5;

struct Case {
  const Net& net;
  const Elements& e;
  int mode;
  Form form;
  int n;  ///< regular forms: elements an edge; else at most
  uint64_t salt;

  bool all() const { return form == Form::kAllgather || form == Form::kAllgatherv; }
  bool regular() const { return form == Form::kAllgather || form == Form::kAlltoall; }
  /// What a member has for one edge: both ends must know, so the sender tells.
  int drawn(int rank, int k) const {
    if (regular()) return n;
    Random r(salt * 77 + static_cast<uint64_t>(rank) * 1009 + static_cast<uint64_t>(all() ? 0 : k));
    r.next();
    return r.below(n + 1);
  }
};

/// Messages along the edges: out(k) is sent on edge k, *in gets what arrives.
std::vector<std::vector<char>> along_edges(const Net& net, const Elements& e,
                                           const std::vector<std::vector<char>>& out) {
  std::vector<MPI_Request> requests;
  std::vector<std::vector<char>> in(net.sources.size());
  std::vector<int> arriving(net.sources.size(), 0), leaving;
  auto messages = [&](auto&& receive, auto&& send) {
    requests.clear();
    for (int j = 0; j < net.in(); ++j) receive(j, net.sources[static_cast<size_t>(j)]);
    for (int k = 0; k < net.out(); ++k) send(k, net.destinations[static_cast<size_t>(k)]);
    OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  };
  for (auto& bytes : out) leaving.push_back(static_cast<int>(bytes.size() / e.size));
  auto add = [&] {
    requests.push_back(MPI_REQUEST_NULL);
    return &requests.back();
  };
  messages(
      [&](int j, int from) {
        OK(MPI_Irecv(&arriving[static_cast<size_t>(j)], 1, MPI_INT, from, net.in_tag(j),
                     net.messages, add()));
      },
      [&](int k, int to) {
        OK(MPI_Isend(&leaving[static_cast<size_t>(k)], 1, MPI_INT, to, net.out_tag(k), net.messages,
                     add()));
      });
  messages(
      [&](int j, int from) {
        auto& bytes = in[static_cast<size_t>(j)];
        bytes.resize(static_cast<size_t>(arriving[static_cast<size_t>(j)]) * e.size);
        OK(MPI_Irecv(bytes.data(), arriving[static_cast<size_t>(j)], e.plain, from, net.in_tag(j),
                     net.messages, add()));
      },
      [&](int k, int to) {
        OK(MPI_Isend(out[static_cast<size_t>(k)].data(), leaving[static_cast<size_t>(k)], e.plain,
                     to, net.out_tag(k), net.messages, add()));
      });
  return in;
}

void call(const Case& c, Room& out, const Edges& from, Room& in, const Edges& to) {
  MPI_Comm comm = c.net.comm;
  auto from_counts = from.wide_counts(), to_counts = to.wide_counts();
  auto from_displs = from.wide_displs(), to_displs = to.wide_displs();
  int mine = c.drawn(c.net.rank, 0);
  switch (c.form) {
    case Form::kAllgather:
      CALL(Neighbor_allgather, Ineighbor_allgather,
           (out.address(), c.n, out.type(), in.address(), c.n, in.type(), comm));
      return;
    case Form::kAllgatherv:
      CALL_V(Neighbor_allgatherv, Ineighbor_allgatherv,
             (out.address(), mine, out.type(), in.address(), to.counts.data(), to.displs.data(),
              in.type(), comm),
             (out.address(), mine, out.type(), in.address(), to_counts.data(), to_displs.data(),
              in.type(), comm));
      return;
    case Form::kAlltoall:
      CALL(Neighbor_alltoall, Ineighbor_alltoall,
           (out.address(), c.n, out.type(), in.address(), c.n, in.type(), comm));
      return;
    case Form::kAlltoallv:
      CALL_V(Neighbor_alltoallv, Ineighbor_alltoallv,
             (out.address(), from.counts.data(), from.displs.data(), out.type(), in.address(),
              to.counts.data(), to.displs.data(), in.type(), comm),
             (out.address(), from_counts.data(), from_displs.data(), out.type(), in.address(),
              to_counts.data(), to_displs.data(), in.type(), comm));
      return;
    default:
      std::vector<MPI_Datatype> out_types(from.counts.size(), out.type()),
          in_types(to.counts.size(), in.type());
      for (MPI_Aint& d : from_displs) d = static_cast<MPI_Aint>(out.bytes(d));
      for (MPI_Aint& d : to_displs) d = static_cast<MPI_Aint>(in.bytes(d));
      CALL_V(Neighbor_alltoallw, Ineighbor_alltoallw,
             (out.address(), from.counts.data(), from_displs.data(), out_types.data(), in.address(),
              to.counts.data(), to_displs.data(), in_types.data(), comm),
             (out.address(), from_counts.data(), from_displs.data(), out_types.data(), in.address(),
              to_counts.data(), to_displs.data(), in_types.data(), comm));
  }
}

void test(const Case& c) {
  Random own(c.salt * 31 + static_cast<uint64_t>(c.net.rank));
  own.next();
  int stride_out = own.below(3) ? 1 : 3, stride_in = own.below(3) ? 1 : 3, hole = !c.regular();
  Edges from, to;
  for (int k = 0; k < c.net.out(); ++k) from.add(c.drawn(c.net.rank, k), hole);
  Room out(c.e, stride_out, c.all() ? c.drawn(c.net.rank, 0) : from.room + 1);
  std::vector<std::vector<char>> sent;
  if (c.all()) out.fill(c.salt + static_cast<uint64_t>(c.net.rank), 0, c.drawn(c.net.rank, 0));
  for (int k = 0; k < c.net.out(); ++k) {
    size_t i = static_cast<size_t>(k);
    int at = c.all() ? 0 : from.displs[i];
    if (!c.all()) out.fill(c.salt + static_cast<uint64_t>(c.net.rank * 64 + k), at, from.counts[i]);
    sent.push_back(out.packed(at, from.counts[i]));
  }
  std::vector<std::vector<char>> expected = along_edges(c.net, c.e, sent);
  for (int j = 0; j < c.net.in(); ++j) {
    bool none = c.net.sources[static_cast<size_t>(j)] == MPI_PROC_NULL;
    int n = static_cast<int>(expected[static_cast<size_t>(j)].size() / c.e.size);
    to.add(none || c.regular() ? c.n : n, hole);
  }
  Room in(c.e, stride_in, to.room + 1);
  call(c, out, from, in, to);
  for (int j = 0; j < c.net.in(); ++j) {
    size_t i = static_cast<size_t>(j);
    if (c.net.sources[i] == MPI_PROC_NULL)
      CHECK(in.untouched(to.displs[i], to.counts[i]));
    else
      CHECK(in.holds(expected[i], to.displs[i], to.counts[i]));
    if (hole) CHECK(in.untouched(to.displs[i] - 1, 1));
  }
  CHECK(in.untouched(to.room, 1) && in.gaps_untouched());
}

void finish_net(Net* net) {
  if (net->comm == MPI_COMM_NULL) return;
  OK(MPI_Comm_rank(net->comm, &net->rank));
  OK(MPI_Comm_dup(net->comm, &net->messages));
}

Net random_grid(Random& random, int size) {
  static const int wanted[][3] = {{1, 0, 0}, {2, 0, 0}, {0, 1, 0}, {2, 2, 0}, {1, 2, 1},
                                  {0, 2, 0}, {0, 0, 0}, {3, 2, 0}, {0, 0, 1}};
  int which = random.below(9), dims[3], periods[3], left = size;
  for (int d = 0; d < 3; ++d) {
    dims[d] = wanted[which][d];
    periods[d] = random.below(2);
    if (dims[d] > left) dims[d] = 1;
    if (dims[d]) left /= dims[d];
  }
  int product = 1;
  bool open = false;
  for (int d : dims) {
    product *= d ? d : 1;
    open |= d == 0;
  }
  OK(MPI_Dims_create(open ? product * left : product, 3, dims));
  Net net;
  net.grid = true;
  int ndims = 1 + random.below(3);
  OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, random.below(2), &net.comm));
  finish_net(&net);
  for (int d = 0; d < ndims && net.comm != MPI_COMM_NULL; ++d) {
    int below, above;
    OK(MPI_Cart_shift(net.comm, d, 1, &below, &above));
    for (int r : {below, above}) net.sources.push_back(r);
  }
  net.destinations = net.sources;
  return net;
}

/// Symmetric, as these collectives demand: each pair has some number of edges both ways.
Net random_graph(Random& random, int size) {
  std::vector<std::vector<int>> neighbors(static_cast<size_t>(size));
  int pairs = random.below(2 * size + 1);
  for (int i = 0; i < pairs; ++i) {
    int a = random.below(size), b = random.below(size);
    for (int times = 1 + random.below(2); times > 0; --times) {
      neighbors[static_cast<size_t>(a)].push_back(b);
      if (a != b) neighbors[static_cast<size_t>(b)].push_back(a);
    }
  }
  std::vector<int> index, edges;
  for (auto& list : neighbors) {
    edges.insert(edges.end(), list.begin(), list.end());
    index.push_back(static_cast<int>(edges.size()));
  }
  Net net;
  edges.push_back(0);  // an address even without edges
  OK(MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), random.below(2),
                      &net.comm));
  finish_net(&net);
  net.sources = net.destinations = neighbors[static_cast<size_t>(net.rank)];
  return net;
}

/// Directed edges of random multiplicity, in another order at each end; by either call.
Net random_dist_graph(Random& random, int size) {
  int rank;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  std::vector<std::pair<int, int>> edges;
  for (int i = random.below(4 * size + 1); i > 0; --i) {
    std::pair<int, int> edge(random.below(size), random.below(size));
    for (int times = 1 + random.below(3) / 2; times > 0; --times) edges.push_back(edge);
  }
  Net net;
  Random own(random.next() + static_cast<uint64_t>(rank) * 7);
  auto shuffle = [&](std::vector<int>& list) {
    for (int i = static_cast<int>(list.size()) - 1; i > 0; --i)
      std::swap(list[static_cast<size_t>(i)], list[static_cast<size_t>(own.below(i + 1))]);
  };
  if (random.below(2)) {
    for (auto& [from, to] : edges) {
      if (from == rank) net.destinations.push_back(to);
      if (to == rank) net.sources.push_back(from);
    }
    shuffle(net.sources);
    shuffle(net.destinations);
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, net.in(), net.sources.data(), MPI_UNWEIGHTED,
                                      net.out(), net.destinations.data(), MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &net.comm));
    finish_net(&net);
    return net;
  }
  // Every edge is named by a rank that need not be one of its ends.
  std::vector<int> sources, degrees, targets;
  for (size_t i = 0; i < edges.size(); ++i)
    if (static_cast<int>(i) % size == rank) {
      sources.push_back(edges[i].first);
      degrees.push_back(1);
      targets.push_back(edges[i].second);
    }
  OK(MPI_Dist_graph_create(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(),
                           degrees.data(), targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                           &net.comm));
  finish_net(&net);
  int in, out, weighted;
  OK(MPI_Dist_graph_neighbors_count(net.comm, &in, &out, &weighted));
  net.sources.resize(static_cast<size_t>(in));
  net.destinations.resize(static_cast<size_t>(out));
  OK(MPI_Dist_graph_neighbors(net.comm, in, net.sources.data(), MPI_UNWEIGHTED, out,
                              net.destinations.data(), MPI_UNWEIGHTED));
  auto named = [&](int from, int to) {
    return std::count(edges.begin(), edges.end(), std::pair<int, int>(from, to));
  };
  for (int r = 0; r < size; ++r) {
    CHECK(std::count(net.sources.begin(), net.sources.end(), r) == named(r, rank));
    CHECK(std::count(net.destinations.begin(), net.destinations.end(), r) == named(rank, r));
  }
  return net;
}

void test_net(Net net, Random& random, const AllElements& elements, int size) {
  // Drawn by all alike, members or not.
  for (int form = 0; form < kForms; ++form)
    for (int mode = 0; mode < kModes; ++mode) {
      const Elements& e =
          elements.list[static_cast<size_t>(random.below(static_cast<int>(elements.list.size())))];
      static const int counts[] = {0, 1, 5, 60, 3000};
      int n = counts[random.below(size > 32 ? 4 : 5)];
      uint64_t salt = random.next() >> 20;
      if (net.comm != MPI_COMM_NULL && (size <= 32 || mode == form))
        test({net, e, mode, static_cast<Form>(form), n, salt});
    }
  if (net.comm == MPI_COMM_NULL) return;
  OK(MPI_Comm_free(&net.messages));
  OK(MPI_Comm_free(&net.comm));
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int size;
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
  int rounds = argc > 2 ? atoi(argv[2]) : size > 32 ? 3 : 8;
  Random random(seed + static_cast<uint64_t>(size));
  {
    AllElements elements;
    for (int round = 0; round < rounds; ++round) {
      test_net(random_grid(random, size), random, elements, size);
      test_net(random_graph(random, size), random, elements, size);
      test_net(random_dist_graph(random, size), random, elements, size);
    }
  }
  return finish();
}
