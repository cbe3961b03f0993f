/* All kinds of objects go on as they were when MPIX_Checkpoint has made them anew: communicators with
 * topologies, names, attributes, error handlers; groups; types; operations; info. */
#include "checkpoint.h"

static int copies, deletions, handled;

static int copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra;
  ++copies;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static MPI_Comm deleted_from;
static int deleted_keyval;
static int delete (MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)value, (void)extra;
  deleted_from = comm;
  deleted_keyval = keyval;
  ++deletions;
  return MPI_SUCCESS;
}
static MPI_Comm handled_comm;
static void handle(MPI_Comm* comm, int* code, ...) {
  (void)code;
  handled_comm = *comm;
  ++handled;
}

static void attributes_and_handlers(void) {
  MPI_Comm comm, twin;
  int keyval, code, flag, extra = 3;
  void* value;
  MPI_Errhandler handler, same;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
  MPI_Comm_set_name(comm, "half");
  MPI_Comm_create_keyval(copy, delete, &keyval, &extra);
  MPI_Comm_set_attr(comm, keyval, &extra);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &copies);
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  const int before = deletions;
  checkpoint();
  CHECK(deletions == before && copies == 0);
  MPI_Comm_get_attr(comm, keyval, &value, &flag);
  CHECK(flag && value == &extra);
  MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &flag);
  CHECK(flag && value == &copies);
  char name[MPI_MAX_OBJECT_NAME];
  int length, size;
  MPI_Comm_get_name(comm, name, &length);
  CHECK(strcmp(name, "half") == 0);
  MPI_Comm_size(comm, &size);
  code = MPI_Send(&size, 1, MPI_INT, size, 0, comm);
  CHECK(handled == 1 && handled_comm == comm && code != MPI_SUCCESS);
  handled = 0;
  MPI_Comm_get_errhandler(comm, &handler);
  MPI_Comm_get_errhandler(comm, &same);
  CHECK(handler == same && handler != MPI_ERRHANDLER_NULL);
  MPI_Errhandler_free(&handler);
  MPI_Errhandler_free(&same);
  MPI_Comm_dup(comm, &twin);
  MPI_Comm_get_attr(twin, keyval, &value, &flag);
  CHECK(copies == 1 && flag && value == (char*)&extra + 1);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  CHECK(deleted_from == MPI_COMM_WORLD && deleted_keyval == keyval);
  const MPI_Comm last = twin;
  MPI_Comm_free(&twin);
  CHECK(twin == MPI_COMM_NULL && deleted_from == last);
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm_free(&comm);
  copies = 0;
}

static void topologies(void) {
  int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], again[2], wraps[2], there[2], self, n, here;
  MPI_Comm grid, row, ring;
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  const int keep[2] = {0, 1};
  MPI_Cart_sub(grid, keep, &row);
  MPI_Cart_get(grid, 2, dims, periods, coords);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size, weight = rank + 7;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, &weight, 1, &to, &weight, MPI_INFO_NULL,
                                 0, &ring);
  MPI_Comm_rank(grid, &self);
  checkpoint();
  MPI_Comm_rank(grid, &here);
  CHECK(here == self);
  MPI_Cart_get(grid, 2, there, wraps, again);
  CHECK(memcmp(there, dims, sizeof dims) == 0 && memcmp(wraps, periods, sizeof periods) == 0);
  CHECK(memcmp(again, coords, sizeof coords) == 0);
  MPI_Cartdim_get(row, &n);
  CHECK(n == 1);
  int got = -1, weights[2], sources, targets;
  MPI_Neighbor_alltoall(&rank, 1, MPI_INT, &got, 1, MPI_INT, ring);
  CHECK(got == from);
  MPI_Dist_graph_neighbors(ring, 1, &sources, &weights[0], 1, &targets, &weights[1]);
  CHECK(sources == from && targets == to && weights[0] == weight && weights[1] == weight);
  MPI_Comm_free(&ring);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);
}

static void add_pairs(void* in, void* inout, int* n, MPI_Datatype* type) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(*type, &lower, &extent);
  for (int i = 0; i < *n; ++i)
    *(int*)((char*)inout + i * extent) += *(int*)((char*)in + i * extent);
}

static void types_and_operations(void) {
  MPI_Datatype column, holder, parts[2] = {MPI_INT, MPI_DATATYPE_NULL}, wide, old;
  MPI_Op op;
  int sum = -1, blocks[2] = {1, 2}, combiner, ints, addresses, types, data[8] = {0};
  MPI_Aint at[2] = {0, 16}, lower, extent;
  MPI_Type_vector(2, 1, 3, MPI_INT, &column);
  parts[1] = column;
  MPI_Type_create_struct(2, blocks, at, parts, &holder);
  MPI_Type_free(&column);
  MPI_Type_create_resized(MPI_INT, 0, 8, &wide);
  MPI_Type_commit(&wide);
  MPI_Type_set_name(wide, "wide");
  MPI_Type_commit(&holder);
  MPI_Type_get_extent(holder, &lower, &extent);
  MPI_Op_create(add_pairs, 1, &op);
  checkpoint();
  MPI_Aint lower2, extent2;
  MPI_Type_get_extent(holder, &lower2, &extent2);
  CHECK(lower2 == lower && extent2 == extent);
  MPI_Type_get_envelope(holder, &ints, &addresses, &types, &combiner);
  CHECK(combiner == MPI_COMBINER_STRUCT && types == 2);
  MPI_Type_get_contents(holder, ints, addresses, types, data, at, parts);
  CHECK(at[1] == 16 && parts[0] == MPI_INT);
  MPI_Type_get_envelope(parts[1], &ints, &addresses, &types, &combiner);
  CHECK(combiner == MPI_COMBINER_VECTOR);
  old = parts[1];
  MPI_Type_free(&parts[1]);
  CHECK(old != MPI_DATATYPE_NULL && parts[1] == MPI_DATATYPE_NULL);
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Type_get_name(wide, name, &length);
  CHECK(strcmp(name, "wide") == 0);
  int own[2] = {rank, 0}, all[2] = {0, 0};
  MPI_Allreduce(own, all, 1, wide, op, MPI_COMM_WORLD);
  sum = size * (size - 1) / 2;
  CHECK(all[0] == sum);
  MPI_Op_free(&op);
  MPI_Type_free(&wide);
  MPI_Type_free(&holder);
}

static void groups_and_info(void) {
  MPI_Group all, odd;
  MPI_Info info;
  int n, flag, ranks[2] = {size - 1, 0};
  char value[16];
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, size > 1 ? 2 : 1, ranks, &odd);
  MPI_Info_create(&info);
  MPI_Info_set(info, "colour", "green");
  checkpoint();
  MPI_Group_rank(odd, &n);
  CHECK(n == (rank == size - 1 ? 0 : rank == 0 ? 1 : MPI_UNDEFINED));
  MPI_Info_get(info, "colour", 15, value, &flag);
  CHECK(flag && strcmp(value, "green") == 0);
  MPI_Info_free(&info);
  MPI_Group_free(&odd);
  MPI_Group_free(&all);
}

static void intercomm(void) {
  if (size < 2) return;
  MPI_Comm half, between;
  const int left = rank < size / 2;
  int sum, remote, others;
  MPI_Comm_split(MPI_COMM_WORLD, left, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, left ? size / 2 : 0, 9, &between);
  MPI_Comm_free(&half);
  checkpoint();
  MPI_Comm_remote_size(between, &remote);
  others = left ? size - size / 2 : size / 2;
  CHECK(remote == others);
  const int one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, between);
  CHECK(sum == others);
  MPI_Comm_free(&between);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int i = 0; i < 3; ++i) {
    attributes_and_handlers();
    topologies();
    types_and_operations();
    groups_and_info();
    intercomm();
  }
  return finish();
}
