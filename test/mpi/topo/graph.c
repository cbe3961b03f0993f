/* Graph and distributed graph topologies. */
#include "mpitest.h"

static void test_graph(int rank, int size) {
  /* A ring with both directions. */
  int *index = malloc(sizeof(int) * (size_t)size), *edges = malloc(sizeof(int) * 2 * (size_t)size);
  int i, n, m, topo, neighbors[2], nodes;
  MPI_Comm ring;
  for (i = 0; i < size; ++i) {
    index[i] = 2 * (i + 1);
    edges[2 * i] = (i + size - 1) % size;
    edges[2 * i + 1] = (i + 1) % size;
  }
  OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &ring));
  OK(MPI_Topo_test(ring, &topo));
  CHECK(topo == MPI_GRAPH);
  OK(MPI_Graphdims_get(ring, &nodes, &m));
  CHECK(nodes == size && m == 2 * size);
  OK(MPI_Graph_neighbors_count(ring, rank, &n));
  CHECK(n == 2);
  OK(MPI_Graph_neighbors(ring, rank, 2, neighbors));
  CHECK(neighbors[0] == (rank + size - 1) % size && neighbors[1] == (rank + 1) % size);
  {
    int *index2 = malloc(sizeof(int) * (size_t)size),
        *edges2 = malloc(sizeof(int) * 2 * (size_t)size);
    OK(MPI_Graph_get(ring, size, 2 * size, index2, edges2));
    for (i = 0; i < size; ++i)
      CHECK(index2[i] == index[i] && edges2[2 * i + 1] == edges[2 * i + 1]);
    free(index2);
    free(edges2);
  }
  OK(MPI_Comm_free(&ring));
  free(index);
  free(edges);
}

/* Every rank contributes the edges that leave its right neighbour: to that one's next three. */
static void test_dist_graph(int rank, int size) {
  int source = (rank + 1) % size, degree = 3, targets[3], weights[3], i, in, out, weighted, topo;
  int sources[3], sweights[3], dests[3], dweights[3];
  MPI_Comm g, copy;
  for (i = 0; i < 3; ++i) {
    targets[i] = (source + i + 1) % size;
    weights[i] = 100 * source + i;
  }
  OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, targets, weights, MPI_INFO_NULL, 0,
                           &g));
  OK(MPI_Topo_test(g, &topo));
  CHECK(topo == MPI_DIST_GRAPH);
  OK(MPI_Comm_dup(g, &copy));
  OK(MPI_Comm_free(&g));
  OK(MPI_Dist_graph_neighbors_count(copy, &in, &out, &weighted));
  CHECK(in == 3 && out == 3 && weighted);
  OK(MPI_Dist_graph_neighbors(copy, 3, sources, sweights, 3, dests, dweights));
  for (i = 0; i < 3; ++i) {
    CHECK(dests[i] == (rank + i + 1) % size && dweights[i] == 100 * rank + i);
    int step = sweights[i] % 100;
    CHECK(sweights[i] / 100 == sources[i] && (sources[i] + step + 1) % size == rank);
  }
  OK(MPI_Comm_free(&copy));
}

static void test_adjacent(int rank, int size) {
  int left = (rank + size - 1) % size, right = (rank + 1) % size, in, out, weighted, source, dest;
  MPI_Comm g;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right,
                                    MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &g));
  OK(MPI_Dist_graph_neighbors_count(g, &in, &out, &weighted));
  CHECK(in == 1 && out == 1 && !weighted);
  OK(MPI_Dist_graph_neighbors(g, 1, &source, MPI_UNWEIGHTED, 1, &dest, MPI_UNWEIGHTED));
  CHECK(source == left && dest == right);
  OK(MPI_Comm_free(&g));
  /* Nobody has edges but rank 0, to itself. */
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 0, &rank, MPI_UNWEIGHTED, rank == 0,
                                    &rank, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &g));
  OK(MPI_Dist_graph_neighbors_count(g, &in, &out, &weighted));
  CHECK(in == (rank == 0) && out == (rank == 0));
  OK(MPI_Comm_free(&g));
}

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  test_graph(rank, size);
  test_dist_graph(rank, size);
  test_adjacent(rank, size);
  return finish();
}
