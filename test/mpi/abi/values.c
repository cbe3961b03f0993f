/* The standard ABI: constants have its values, and calls understand and return them. */
#include <mpi.h>
#include <string.h>

#include "mpitest.h"

#if MPI_VERSION != 5 || MPI_ABI_VERSION != 1
#error "not the standard ABI's header"
#endif

static int rank, size;

static void check_handles(void) {
  /* Predefined handles are their own numbers; others come back. */
  CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 0x101);
  CHECK(MPI_Comm_fromint(0x101) == MPI_COMM_WORLD);
  CHECK(MPI_Type_toint(MPI_DOUBLE) == 0x214);
  CHECK(MPI_Op_toint(MPI_MAXLOC) == 0x39);
  CHECK(MPI_File_toint(MPI_FILE_NULL) == 0x118);
  CHECK(MPI_File_fromint(0x118) == MPI_FILE_NULL);
  MPI_Comm copy;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(copy)) == copy);
  int result;
  OK(MPI_Comm_compare(MPI_COMM_WORLD, copy, &result));
  CHECK(result == MPI_CONGRUENT);
  OK(MPI_Comm_free(&copy));
  CHECK(copy == MPI_COMM_NULL);
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, 0, &copy));
  CHECK((rank == 0) == (copy == MPI_COMM_NULL));
  if (copy != MPI_COMM_NULL) OK(MPI_Comm_free(&copy));
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  OK(MPI_Wait(&request, &status));
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
  CHECK(status.MPI_ERROR == MPI_SUCCESS);
}

static void check_errors(void) {
  /* Classes are the ABI's, from a call, its code's class, and in a status. */
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int class, length, value = 0;
  char text[MPI_MAX_ERROR_STRING];
  int code = MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
  OK(MPI_Error_class(code, &class));
  CHECK(class == MPI_ERR_RANK);
  OK(MPI_Error_string(code, text, &length));
  CHECK(strstr(text, "rank"));
  code = MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD);
  OK(MPI_Error_class(code, &class));
  CHECK(class == MPI_ERR_TYPE);
  /* What is a valid constant in MPICH's ABI only is refused: -1 and -2 are its null process and any
   * source. */
  for (int wrong = -2; wrong < 0; ++wrong) {
    code = MPI_Send(&value, 1, MPI_INT, wrong, 0, MPI_COMM_WORLD);
    OK(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_RANK);
  }
  OK(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  MPI_Status status;
  OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
  MPI_Comm dup;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &dup));
  CHECK(dup != MPI_COMM_NULL);
  OK(MPI_Comm_free(&dup));
  CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, 1, 0, MPI_INFO_NULL, &dup) != MPI_SUCCESS);
  /* A message that is too long: the code is in each status. */
  if (rank == 0) {
    int two[2] = {1, 2};
    MPI_Request requests[2];
    MPI_Status statuses[2];
    OK(MPI_Irecv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(two, 2, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[1]));
    code = MPI_Waitall(2, requests, statuses);
    OK(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_IN_STATUS);
    OK(MPI_Error_class(statuses[0].MPI_ERROR, &class));
    CHECK(class == MPI_ERR_TRUNCATE);
    CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS);
  }
  /* Classes of the program's own lie above those of MPI. */
  int mine, own;
  OK(MPI_Add_error_class(&mine));
  CHECK(mine > MPI_ERR_LASTCODE);
  OK(MPI_Add_error_code(MPI_ERR_TRUNCATE, &own));
  OK(MPI_Error_class(own, &class));
  CHECK(class == MPI_ERR_TRUNCATE);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

static void check_attributes(void) {
  int flag, *value;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
  CHECK(flag && *value >= 32767);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag));
  CHECK(flag && *value == MPI_ANY_SOURCE);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag));
  CHECK(!flag || *value == MPI_PROC_NULL);
  double memory[4];
  MPI_Win win;
  OK(MPI_Win_create(memory, sizeof memory, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag));
  CHECK(flag && *value == MPI_WIN_FLAVOR_CREATE);
  OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag));
  CHECK(flag && (*value == MPI_WIN_UNIFIED || *value == MPI_WIN_SEPARATE));
  void* base;
  OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
  CHECK(flag && base == memory);
  memory[0] = rank;
  OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE, win));
  double got = -1;
  OK(MPI_Get(&got, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  CHECK(got == (rank + 1) % size);
  OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOCHECK, win));
  OK(MPI_Win_unlock(rank, win));
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
  OK(MPI_Win_unlock(rank, win));
  OK(MPI_Win_free(&win));
  CHECK(win == MPI_WIN_NULL);
}

static void check_types(void) {
  int integers[16], n_integers, n_addresses, n_types, combiner;
  MPI_Aint addresses[4];
  MPI_Datatype types[4], type;
  const int sizes[2] = {8, 8}, kinds[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
  const int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[2] = {2, 1};
  OK(MPI_Type_create_darray(2, 1, 2, sizes, kinds, arguments, grid, MPI_ORDER_FORTRAN, MPI_FLOAT,
                            &type));
  OK(MPI_Type_get_envelope(type, &n_integers, &n_addresses, &n_types, &combiner));
  CHECK(combiner == MPI_COMBINER_DARRAY && n_integers == 12 && n_types == 1);
  OK(MPI_Type_get_contents(type, 16, 4, 4, integers, addresses, types));
  CHECK(integers[5] == MPI_DISTRIBUTE_BLOCK && integers[6] == MPI_DISTRIBUTE_NONE);
  CHECK(integers[7] == MPI_DISTRIBUTE_DFLT_DARG && integers[11] == MPI_ORDER_FORTRAN);
  CHECK(types[0] == MPI_FLOAT);
  OK(MPI_Type_free(&type));
  const int blocks[3] = {1, 2, 1};
  const MPI_Aint places[3] = {0, 8, 24};
  MPI_Datatype members[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  OK(MPI_Type_create_struct(3, blocks, places, members, &type));
  OK(MPI_Type_get_envelope(type, &n_integers, &n_addresses, &n_types, &combiner));
  CHECK(combiner == MPI_COMBINER_STRUCT && n_types == 3);
  OK(MPI_Type_get_contents(type, 16, 4, 4, integers, addresses, types));
  CHECK(types[0] == MPI_INT && types[1] == MPI_DOUBLE && types[2] == MPI_CHAR);
  OK(MPI_Type_free(&type));
  CHECK(type == MPI_DATATYPE_NULL);
  OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type));
  int bytes;
  OK(MPI_Type_size(type, &bytes));
  CHECK(bytes == 8);
}

/* 40 requests at once, more than are translated without memory of their own; types for each rank. */
static void check_arrays(void) {
  enum { kMany = 40 };
  MPI_Request requests[2 * kMany];
  MPI_Status statuses[2 * kMany];
  int out[kMany], in[kMany];
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int i = 0; i < kMany; ++i) {
    out[i] = 1000 * rank + i;
    OK(MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Isend(&out[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &requests[kMany + i]));
  }
  OK(MPI_Waitall(2 * kMany, requests, statuses));
  for (int i = 0; i < kMany; ++i) {
    int n;
    CHECK(in[i] == 1000 * before + i && requests[i] == MPI_REQUEST_NULL);
    CHECK(statuses[i].MPI_SOURCE == before && statuses[i].MPI_TAG == i);
    OK(MPI_Get_count(&statuses[i], MPI_INT, &n));
    CHECK(n == 1);
  }
  int* counts = malloc(sizeof(int) * (size_t)size);
  int* places = malloc(sizeof(int) * (size_t)size);
  MPI_Datatype* types = malloc(sizeof(MPI_Datatype) * (size_t)size);
  short* sent = malloc(sizeof(short) * (size_t)size);
  short* received = calloc((size_t)size, sizeof(short));
  for (int i = 0; i < size; ++i) {
    counts[i] = 1, places[i] = i * (int)sizeof(short), types[i] = MPI_SHORT;
    sent[i] = (short)(rank + i);
  }
  OK(MPI_Alltoallw(sent, counts, places, types, received, counts, places, types, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) CHECK(received[i] == (short)(rank + i));
  OK(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, received, counts, places, types,
                   MPI_COMM_WORLD));
  int total = rank, all;
  OK(MPI_Allreduce(&total, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(all == size * (size - 1) / 2 && total == all);
  free(counts), free(places), free(types), free(sent), free(received);
}

static void check_topologies(void) {
  MPI_Comm line;
  int periods = 0, from, to, status;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periods, 0, &line));
  OK(MPI_Cart_shift(line, 0, 1, &from, &to));
  CHECK(from == (rank == 0 ? MPI_PROC_NULL : rank - 1));
  CHECK(to == (rank == size - 1 ? MPI_PROC_NULL : rank + 1));
  OK(MPI_Topo_test(line, &status));
  CHECK(status == MPI_CART);
  OK(MPI_Comm_free(&line));
  OK(MPI_Topo_test(MPI_COMM_WORLD, &status));
  CHECK(status == MPI_UNDEFINED);
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
                                    MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &line));
  OK(MPI_Comm_free(&line));
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &rank, MPI_UNWEIGHTED, 1, &rank,
                                    MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &line));
  int in, out, weighted;
  OK(MPI_Dist_graph_neighbors_count(line, &in, &out, &weighted));
  CHECK(in == 1 && out == 1 && !weighted);
  OK(MPI_Comm_free(&line));
  MPI_Group group, none;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
  OK(MPI_Group_incl(group, 0, NULL, &none));
  CHECK(none == MPI_GROUP_EMPTY);
  int ranks[2] = {0, MPI_PROC_NULL}, translated[2];
  OK(MPI_Group_translate_ranks(group, 2, ranks, group, translated));
  CHECK(translated[0] == 0 && translated[1] == MPI_PROC_NULL);
  OK(MPI_Group_free(&group));
}

static void check_files(void) {
  MPI_File file;
  char name[64];
  snprintf(name, sizeof name, "abi_values_%d", size);
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
  OK(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file));
  CHECK(MPI_File_fromint(MPI_File_toint(file)) == file);
  int got_mode;
  OK(MPI_File_get_amode(file, &got_mode));
  CHECK(got_mode == mode);
  OK(MPI_File_write_at(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_sync(file));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_seek(file, -4, MPI_SEEK_END));
  int last;
  MPI_Status status;
  OK(MPI_File_read(file, &last, 1, MPI_INT, &status));
  CHECK(last == size - 1);
  OK(MPI_File_close(&file));
  CHECK(file == MPI_FILE_NULL);
  const int code =
      MPI_File_open(MPI_COMM_SELF, "/no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  int class;
  OK(MPI_Error_class(code, &class));
  CHECK(class == MPI_ERR_NO_SUCH_FILE);
}

int main(int argc, char** argv) {
  int major, minor, level;
  OK(MPI_Abi_get_version(&major, &minor));
  CHECK(major == 1 && minor == 0);
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level));
  CHECK(level == MPI_THREAD_FUNNELED || level == MPI_THREAD_SERIALIZED ||
        level == MPI_THREAD_MULTIPLE);
  OK(MPI_Get_version(&major, &minor));
  CHECK(major == 5 && minor == 0);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  check_handles();
  check_errors();
  check_attributes();
  check_types();
  check_arrays();
  check_topologies();
  check_files();
  return finish();
}
