/* Graphs of unusual shapes, and neighbourhood collectives on them: ranks without neighbours, edges
 * to oneself, the same edge several times, ranks outside of the graph. */
#include "mpitest.h"

enum { kMost = 8 };

/* Rank r sends to: nobody (r % 4 == 0), itself twice (1), its right neighbour three times (2),
 * everybody of the first three and itself (3). */
static int targets(int r, int size, int* to) {
  int n = 0, i;
  switch (r % 4) {
    case 1:
      to[n++] = r, to[n++] = r;
      break;
    case 2:
      for (i = 0; i < 3; ++i) to[n++] = (r + 1) % size;
      break;
    case 3:
      for (i = 0; i < 3 && i < size; ++i) to[n++] = i;
      to[n++] = r;
      break;
    default:
      break;
  }
  return n;
}

/* Where rank r receives from, ascending, an edge as often as it is there. */
static int origins(int r, int size, int* from) {
  int n = 0, s, i, to[kMost], m;
  for (s = 0; s < size; ++s) {
    m = targets(s, size, to);
    for (i = 0; i < m; ++i)
      if (to[i] == r) from[n++] = s;
  }
  return n;
}

/* What goes over each edge is checked by its number among the edges from the same source to the
 * same target. */
static void exchange(MPI_Comm g, int rank, int n_in, const int* in, int n_out) {
  long* sent = malloc(sizeof(long) * (size_t)(2 * n_out + 1));
  long* got = malloc(sizeof(long) * (size_t)(2 * n_in + 1));
  int *counts_out = malloc(sizeof(int) * (size_t)(n_out + 1)),
      *counts_in = malloc(sizeof(int) * (size_t)(n_in + 1));
  int *at_out = malloc(sizeof(int) * (size_t)(n_out + 1)),
      *at_in = malloc(sizeof(int) * (size_t)(n_in + 1));
  long mine = 1000 + rank;
  MPI_Request request;
  int i;
  for (i = 0; i <= 2 * n_in; ++i) got[i] = -1;
  OK(MPI_Neighbor_allgather(&mine, 1, MPI_LONG, got, 1, MPI_LONG, g));
  for (i = 0; i < n_in; ++i) CHECK(got[i] == 1000 + in[i]);
  CHECK(got[n_in] == -1);
  for (i = 0; i < n_out; ++i) sent[i] = 100L * rank + 10 * i;
  OK(MPI_Ineighbor_alltoall(sent, 1, MPI_LONG, got, 1, MPI_LONG, g, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (i = 0; i < n_in; ++i) CHECK(got[i] / 100 == in[i]);
  /* Edges of one pair keep their order. */
  for (i = 1; i < n_in; ++i)
    if (in[i] == in[i - 1]) CHECK(got[i] > got[i - 1]);
  CHECK(got[n_in] == -1);
  /* As many values as the source's number is odd or even: 1 or 2. */
  for (i = 0; i < n_out; ++i) {
    counts_out[i] = 1 + rank % 2;
    at_out[i] = 2 * i;
    sent[2 * i] = sent[2 * i + 1] = rank;
  }
  for (i = 0; i < n_in; ++i) {
    counts_in[i] = 1 + in[i] % 2;
    at_in[i] = 2 * i;
    got[2 * i] = got[2 * i + 1] = -1;
  }
  OK(MPI_Neighbor_alltoallv(sent, counts_out, at_out, MPI_LONG, got, counts_in, at_in, MPI_LONG,
                            g));
  for (i = 0; i < n_in; ++i)
    CHECK(got[2 * i] == in[i] && got[2 * i + 1] == (in[i] % 2 ? in[i] : -1));
  free(sent), free(got), free(counts_out), free(counts_in), free(at_out), free(at_in);
}

static void test_adjacent(int rank, int size) {
  int out[kMost], *in = malloc(sizeof(int) * (size_t)(4 * size + 4)),
                  n_out = targets(rank, size, out), n_in, a, b, w;
  int *back = malloc(sizeof(int) * (size_t)(4 * size + 4)), to[kMost], i;
  MPI_Comm g, copy;
  n_in = origins(rank, size, in);
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n_in, in, MPI_UNWEIGHTED, n_out, out,
                                    MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &g));
  OK(MPI_Dist_graph_neighbors_count(g, &a, &b, &w));
  CHECK(a == n_in && b == n_out && !w);
  OK(MPI_Dist_graph_neighbors(g, n_in, back, MPI_UNWEIGHTED, n_out, to, MPI_UNWEIGHTED));
  for (i = 0; i < n_in; ++i) CHECK(back[i] == in[i]);
  for (i = 0; i < n_out; ++i) CHECK(to[i] == out[i]);
  exchange(g, rank, n_in, in, n_out);
  OK(MPI_Comm_dup(g, &copy));
  OK(MPI_Comm_free(&g));
  exchange(copy, rank, n_in, in, n_out);
  OK(MPI_Comm_free(&copy));
  free(in), free(back);
}

/* The same graph, given by rank 0 alone, with weights; the order of neighbours is the library's. */
static void test_given_by_one(int rank, int size) {
  int *sources = malloc(sizeof(int) * (size_t)size), *degrees = malloc(sizeof(int) * (size_t)size);
  int *all = malloc(sizeof(int) * (size_t)(4 * size)),
      *weights = malloc(sizeof(int) * (size_t)(4 * size)), edges = 0, r, i;
  int *in = malloc(sizeof(int) * (size_t)(4 * size + 4)),
      *expected = malloc(sizeof(int) * (size_t)(4 * size + 4));
  int *weight_in = malloc(sizeof(int) * (size_t)(4 * size + 4)), out[kMost], weight_out[kMost],
      n_in, n_out, a, b, w;
  long sum = 0, wanted = 0;
  MPI_Comm g;
  for (r = 0; r < size; ++r) {
    sources[r] = r;
    degrees[r] = targets(r, size, all + edges);
    for (i = 0; i < degrees[r]; ++i) weights[edges + i] = 7 * r + i;
    edges += degrees[r];
  }
  OK(MPI_Dist_graph_create(MPI_COMM_WORLD, rank ? 0 : size, sources, degrees, all,
                           rank ? MPI_WEIGHTS_EMPTY : weights, MPI_INFO_NULL, 0, &g));
  n_in = origins(rank, size, expected);
  n_out = targets(rank, size, out);
  OK(MPI_Dist_graph_neighbors_count(g, &a, &b, &w));
  CHECK(a == n_in && b == n_out && w);
  OK(MPI_Dist_graph_neighbors(g, n_in, in, weight_in, n_out, out, weight_out));
  for (i = 0; i < n_in; ++i) sum += in[i], wanted += expected[i];
  CHECK(sum == wanted);
  for (i = 0, sum = 0; i < n_out; ++i) sum += weight_out[i];
  CHECK(sum == 7L * rank * n_out + (long)n_out * (n_out - 1) / 2);
  exchange(g, rank, n_in, in, n_out);
  OK(MPI_Comm_free(&g));
  free(sources), free(degrees), free(all), free(weights), free(in), free(expected), free(weight_in);
}

/* A graph of all ranks but the last (they are in no graph where there is one only), node 0 with an
 * edge to itself. */
static void test_graph(int rank, int size) {
  int nodes = size > 1 ? size - 1 : 1, *index = malloc(sizeof(int) * (size_t)nodes),
      *edges = malloc(sizeof(int) * (size_t)(2 * nodes));
  int i, n = 0, neighbors[4];
  MPI_Comm g;
  for (i = 0; i < nodes; ++i) {
    if (i == 0) edges[n++] = 0, edges[n++] = 0; /* twice to itself */
    if (i % 2 && i + 1 < nodes) edges[n++] = i + 1;
    if (i && i % 2 == 0) edges[n++] = i - 1;
    index[i] = n;
  }
  OK(MPI_Graph_create(MPI_COMM_WORLD, nodes, index, edges, 0, &g));
  CHECK((g != MPI_COMM_NULL) == (rank < nodes));
  if (g != MPI_COMM_NULL) {
    int degree = index[rank] - (rank ? index[rank - 1] : 0);
    OK(MPI_Graph_neighbors_count(g, rank, &n));
    CHECK(n == degree);
    OK(MPI_Graph_neighbors(g, rank, n, neighbors));
    for (i = 0; i < n; ++i) CHECK(neighbors[i] == edges[index[rank] - n + i]);
    exchange(g, rank, n, neighbors, n);
    OK(MPI_Comm_free(&g));
  }
  OK(MPI_Graph_create(MPI_COMM_WORLD, 0, index, edges, 0, &g));
  CHECK(g == MPI_COMM_NULL);
  free(index), free(edges);
}

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  test_adjacent(rank, size);
  test_given_by_one(rank, size);
  test_graph(rank, size);
  return finish();
}
