/* Calls of chapters 7 and 8 with bad arguments, one line each: the call and the error class it
 * gives. bad_arguments.sh runs this program under this library and under the hosted MPICH and
 * compares. Two ranks; both make every call, so that none waits for the other, and rank 0 prints.
 * With the argument "host" it leaves out what ends the hosted MPICH. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, under_host;

static void line(const char* call, int code) {
  int error_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  if (rank == 0) printf("%-88s %d\n", call, error_class);
}
#define TRY(...) line(#__VA_ARGS__, __VA_ARGS__)
#define TRY_OURS(...) \
  if (!under_host) line(#__VA_ARGS__, __VA_ARGS__)

static void communicators(void) {
  MPI_Comm c = MPI_COMM_NULL, null = MPI_COMM_NULL, world = MPI_COMM_WORLD;
  MPI_Group group, made; /* a failed call leaves MPI_GROUP_NULL in its result */
  MPI_Info info = MPI_INFO_NULL;
  MPI_Request request;
  int n = 0;
  MPI_Comm_group(world, &group);
  TRY(MPI_Comm_size(null, &n));
  TRY(MPI_Comm_size(world, NULL));
  TRY(MPI_Comm_rank(null, &n));
  TRY(MPI_Comm_rank(world, NULL));
  TRY(MPI_Comm_compare(null, world, &n));
  TRY(MPI_Comm_compare(world, null, &n));
  TRY(MPI_Comm_compare(world, world, NULL));
  TRY(MPI_Comm_group(null, &made));
  TRY(MPI_Comm_group(world, NULL));
  TRY(MPI_Comm_dup(null, &c));
  TRY(MPI_Comm_dup(world, NULL));
  TRY(MPI_Comm_idup(null, &c, &request));
  TRY(MPI_Comm_dup_with_info(null, info, &c));
  TRY(MPI_Comm_split(null, 0, 0, &c));
  TRY(MPI_Comm_split(world, -5, 0, &c));
  TRY(MPI_Comm_split(world, 0, 0, NULL));
  TRY(MPI_Comm_split_type(null, MPI_COMM_TYPE_SHARED, 0, info, &c));
  TRY(MPI_Comm_split_type(world, 12345, 0, info, &c));
  TRY(MPI_Comm_create(null, group, &c));
  TRY(MPI_Comm_create(world, MPI_GROUP_NULL, &c));
  TRY(MPI_Comm_create_group(null, group, 0, &c));
  TRY(MPI_Comm_create_group(world, MPI_GROUP_NULL, 0, &c));
  TRY(MPI_Comm_create_group(world, group, -1, &c));
  TRY(MPI_Comm_free(&null));
  TRY(MPI_Comm_free(&world));
  TRY(MPI_Comm_test_inter(null, &n));
  TRY(MPI_Comm_test_inter(world, NULL));
  TRY(MPI_Comm_remote_size(world, &n));
  TRY_OURS(MPI_Comm_remote_group(world, &made)); /* an assertion ends MPICH 5.0 */
  TRY(MPI_Intercomm_create(null, 0, world, 0, 1, &c));
  TRY(MPI_Intercomm_create(world, 7, world, 0, 1, &c));
  TRY(MPI_Intercomm_create(world, -1, world, 0, 1, &c));
  TRY_OURS(MPI_Intercomm_merge(world, 0, &c));
  TRY(MPI_Intercomm_merge(null, 0, &c));
  TRY(MPI_Comm_set_name(null, "x"));
  TRY(MPI_Comm_set_name(world, NULL));
  TRY(MPI_Comm_get_name(world, NULL, &n));
  TRY(MPI_Comm_set_info(null, info));
  TRY(MPI_Comm_get_info(null, &info));
  TRY(MPI_Comm_set_errhandler(world, MPI_ERRHANDLER_NULL));
  TRY(MPI_Comm_set_errhandler(null, MPI_ERRORS_RETURN));
  TRY(MPI_Comm_get_errhandler(world, NULL));
  TRY(MPI_Comm_call_errhandler(null, MPI_ERR_OTHER));
  MPI_Group_free(&group);
}

static void attributes(void) {
  int flag, key = MPI_KEYVAL_INVALID, tag_ub = MPI_TAG_UB;
  void* value;
  TRY(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value, &flag));
  TRY(MPI_Comm_get_attr(MPI_COMM_NULL, MPI_TAG_UB, &value, &flag));
  TRY(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, NULL, &flag));
  TRY(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, NULL));
  TRY(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, NULL));
  TRY(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, NULL));
  TRY(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_TAG_UB));
  TRY(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID));
  TRY(MPI_Comm_free_keyval(&key));
  TRY(MPI_Comm_free_keyval(&tag_ub));
  TRY(MPI_Comm_free_keyval(NULL));
  TRY(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, NULL, NULL));
}

static void groups(void) {
  MPI_Group world, g, null = MPI_GROUP_NULL;
  int n, one = 0, nine = 9, twice[2] = {1, 1}, out[2];
  int past[1][3] = {{0, 5, 1}}, still[1][3] = {{0, 1, 0}}, overlap[2][3] = {{0, 1, 1}, {1, 1, 1}},
      back[1][3] = {{1, 0, 1}};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  TRY(MPI_Group_size(null, &n));
  TRY(MPI_Group_size(world, NULL));
  TRY(MPI_Group_rank(null, &n));
  TRY(MPI_Group_translate_ranks(null, 1, &one, world, out));
  TRY(MPI_Group_translate_ranks(world, 1, &one, null, out));
  TRY(MPI_Group_translate_ranks(world, -1, &one, world, out));
  TRY(MPI_Group_translate_ranks(world, 1, &nine, world, out));
  TRY(MPI_Group_compare(world, null, &n));
  TRY(MPI_Group_compare(world, world, NULL));
  TRY(MPI_Group_union(null, world, &g));
  TRY(MPI_Group_intersection(world, null, &g));
  TRY(MPI_Group_difference(null, world, &g));
  TRY(MPI_Group_incl(null, 1, &one, &g));
  TRY(MPI_Group_incl(world, -1, &one, &g));
  TRY(MPI_Group_incl(world, 1, &nine, &g));
  TRY(MPI_Group_incl(world, 2, twice, &g));
  TRY(MPI_Group_excl(world, 1, &nine, &g));
  TRY(MPI_Group_excl(world, 2, twice, &g));
  TRY(MPI_Group_excl(world, -1, twice, &g));
  TRY(MPI_Group_range_incl(world, -1, past, &g));
  TRY(MPI_Group_range_incl(world, 1, past, &g));
  TRY(MPI_Group_range_incl(world, 1, still, &g));
  TRY(MPI_Group_range_incl(world, 2, overlap, &g));
  TRY(MPI_Group_range_incl(world, 1, back, &g));
  TRY(MPI_Group_range_excl(world, 1, past, &g));
  TRY(MPI_Group_range_excl(world, 1, still, &g));
  TRY(MPI_Group_range_excl(world, 2, overlap, &g));
  TRY(MPI_Group_free(&null));
  TRY(MPI_Group_free(NULL));
  MPI_Group_free(&world);
}

static void grids(void) {
  MPI_Comm c, grid;
  int two[2] = {2, 1}, zero[2] = {0, 0}, minus[2] = {-1, 1}, many[2] = {2, 2}, periods[2] = {0, 1},
      coords[2] = {0, 0};
  int outside[2] = {5, 0}, n, m, dims[2] = {0, 0}, five[2] = {5, 0}, neg[2] = {-1, 0},
      full[2] = {2, 2};
  TRY(MPI_Cart_create(MPI_COMM_NULL, 2, two, periods, 0, &c));
  TRY(MPI_Cart_create(MPI_COMM_WORLD, -1, two, periods, 0, &c));
  TRY(MPI_Cart_create(MPI_COMM_WORLD, 2, minus, periods, 0, &c));
  TRY(MPI_Cart_create(MPI_COMM_WORLD, 2, many, periods, 0, &c));
  TRY(MPI_Cart_create(MPI_COMM_WORLD, 2, NULL, periods, 0, &c));
  TRY(MPI_Cart_create(MPI_COMM_WORLD, 2, two, NULL, 0, &c));
  TRY(MPI_Cart_create(MPI_COMM_WORLD, 2, two, periods, 0, NULL));
  TRY(MPI_Cart_create(MPI_COMM_WORLD, 2, two, periods, 0, &grid));
  TRY(MPI_Cartdim_get(MPI_COMM_WORLD, &n));
  TRY(MPI_Cartdim_get(grid, NULL));
  TRY_OURS(MPI_Cart_get(MPI_COMM_WORLD, 2, dims, periods, coords));
  TRY(MPI_Cart_rank(MPI_COMM_WORLD, coords, &n));
  TRY(MPI_Cart_rank(grid, outside, &n));
  TRY(MPI_Cart_rank(grid, NULL, &n));
  TRY(MPI_Cart_coords(MPI_COMM_WORLD, 0, 2, coords));
  TRY(MPI_Cart_coords(grid, 2, 2, coords));
  TRY(MPI_Cart_coords(grid, -1, 2, coords));
  TRY(MPI_Cart_shift(MPI_COMM_WORLD, 0, 1, &n, &m));
  TRY(MPI_Cart_shift(grid, 2, 1, &n, &m));
  TRY(MPI_Cart_shift(grid, -1, 1, &n, &m));
  TRY(MPI_Cart_shift(grid, 0, 1, NULL, &m));
  TRY(MPI_Cart_sub(MPI_COMM_WORLD, periods, &c));
  TRY(MPI_Cart_sub(grid, NULL, &c));
  TRY(MPI_Cart_map(MPI_COMM_WORLD, 2, many, periods, &n));
  TRY(MPI_Cart_map(MPI_COMM_WORLD, 2, minus, periods, &n));
  TRY(MPI_Cart_map(MPI_COMM_NULL, 2, two, periods, &n));
  TRY_OURS(MPI_Dims_create(0, 2, zero));
  TRY(MPI_Dims_create(-4, 2, dims));
  TRY(MPI_Dims_create(6, 2, five));
  TRY(MPI_Dims_create(6, 2, neg));
  TRY(MPI_Dims_create(6, 2, full));
  TRY(MPI_Dims_create(6, 2, NULL));
  TRY(MPI_Topo_test(MPI_COMM_NULL, &n));
  TRY(MPI_Topo_test(grid, NULL));
  MPI_Comm_free(&grid);
}

static void graphs(void) {
  MPI_Comm c, ring;
  int index[2] = {1, 2}, edges[2] = {1, 0}, falls[2] = {2, 1}, far[2] = {1, 9}, minus[2] = {-1, 2},
      n, m;
  int one[1] = {0}, bad[1] = {-1}, nine[1] = {9}, degree[1] = {1}, degrees[1] = {-1}, near[4];
  TRY(MPI_Graph_create(MPI_COMM_NULL, 2, index, edges, 0, &c));
  TRY(MPI_Graph_create(MPI_COMM_WORLD, -1, index, edges, 0, &c));
  TRY(MPI_Graph_create(MPI_COMM_WORLD, 5, index, edges, 0, &c));
  TRY(MPI_Graph_create(MPI_COMM_WORLD, 2, falls, edges, 0, &c));
  TRY(MPI_Graph_create(MPI_COMM_WORLD, 2, minus, edges, 0, &c));
  TRY(MPI_Graph_create(MPI_COMM_WORLD, 2, index, far, 0, &c));
  TRY(MPI_Graph_create(MPI_COMM_WORLD, 2, NULL, edges, 0, &c));
  TRY(MPI_Graph_create(MPI_COMM_WORLD, 2, index, edges, 0, &ring));
  TRY(MPI_Graphdims_get(MPI_COMM_WORLD, &n, &m));
  TRY(MPI_Graph_get(MPI_COMM_WORLD, 2, 2, near, near));
  TRY(MPI_Graph_neighbors_count(MPI_COMM_WORLD, 0, &n));
  TRY(MPI_Graph_neighbors_count(ring, 2, &n));
  TRY(MPI_Graph_neighbors_count(ring, -1, &n));
  TRY(MPI_Graph_neighbors(ring, 7, 2, near));
  TRY(MPI_Graph_map(MPI_COMM_WORLD, 5, index, edges, &n));
  TRY(MPI_Graph_map(MPI_COMM_NULL, 2, index, edges, &n));
  TRY(MPI_Dist_graph_create(MPI_COMM_NULL, 1, one, degree, one, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                            &c));
  TRY(MPI_Dist_graph_create(MPI_COMM_WORLD, -1, one, degree, one, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                            &c));
  TRY_OURS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, bad, degree, one, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 0, &c));
  TRY_OURS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, nine, degree, one, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &c));
  TRY(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, one, degrees, one, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                            &c));
  TRY_OURS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, one, degree, nine, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &c));
  TRY(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, -1, one, MPI_UNWEIGHTED, 1, one,
                                     MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c));
  TRY(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, nine, MPI_UNWEIGHTED, 1, one,
                                     MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c));
  TRY(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, one, MPI_UNWEIGHTED, -1, one,
                                     MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c));
  TRY(MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &n, &m, near));
  TRY(MPI_Dist_graph_neighbors(ring, 1, near, near, 1, near, near));
  MPI_Comm_free(&ring);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  under_host = argc > 1 && strcmp(argv[1], "host") == 0;
  communicators();
  attributes();
  groups();
  grids();
  graphs();
  if (argc > 1 && strcmp(argv[1], "freed") == 0) {
    MPI_Comm c;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_set_name(c, "the halo");
    MPI_Comm copy = c;
    MPI_Comm_free(&c);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Barrier(copy);
  }
  MPI_Finalize();
  return 0;
}
