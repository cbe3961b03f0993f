/* Calls every function that the hosted MPI answers, with right and wrong arguments, and writes what
 * comes back to FOLDER/RANK: error classes and results, no handles. Ranks of one process write what
 * ranks of four processes write, and what processes of the hosted MPI write by themselves
 * (forwarded.sh). Between sections all ranks meet, so that the objects of one are there while
 * another makes its own. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../mpitest.h"

static FILE* out;
static int rank;

/* A call by its text and the class of its error. */
#define CALL(call)                             \
  do {                                         \
    int code_ = (call), class_ = -1;           \
    MPI_Error_class(code_, &class_);           \
    fprintf(out, "%s -> %d\n", #call, class_); \
    fflush(out);                               \
  } while (0)
#define SAY(...) fprintf(out, "  " __VA_ARGS__)

static void next_section(const char* name) {
  MPI_Barrier(MPI_COMM_WORLD);
  fprintf(out, "== %s\n", name);
}

/* What a type is: sizes, bounds, and how it was made. */
static void describe(MPI_Datatype type) {
  int size = -1, integers = -1, addresses = -1, types = -1, combiner = -1;
  MPI_Aint lb = -1, extent = -1;
  MPI_Count count = -1, lb_x = -1, extent_x = -1;
  CALL(MPI_Type_size(type, &size));
  CALL(MPI_Type_size_x(type, &count));
  SAY("%d %lld\n", size, (long long)count);
  CALL(MPI_Type_size_c(type, &count));
  SAY("%lld\n", (long long)count);
  CALL(MPI_Type_get_extent(type, &lb, &extent));
  SAY("%ld %ld\n", (long)lb, (long)extent);
  CALL(MPI_Type_get_extent_x(type, &lb_x, &extent_x));
  SAY("%lld %lld\n", (long long)lb_x, (long long)extent_x);
  CALL(MPI_Type_get_extent_c(type, &lb_x, &extent_x));
  SAY("%lld %lld\n", (long long)lb_x, (long long)extent_x);
  CALL(MPI_Type_get_true_extent(type, &lb, &extent));
  SAY("%ld %ld\n", (long)lb, (long)extent);
  CALL(MPI_Type_get_true_extent_x(type, &lb_x, &extent_x));
  CALL(MPI_Type_get_true_extent_c(type, &lb_x, &extent_x));
  SAY("%lld %lld\n", (long long)lb_x, (long long)extent_x);
  CALL(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
  SAY("%d %d %d combiner %d\n", integers, addresses, types, combiner);
  MPI_Count integers_c = -1, addresses_c = -1, counts_c = -1, types_c = -1;
  CALL(MPI_Type_get_envelope_c(type, &integers_c, &addresses_c, &counts_c, &types_c, &combiner));
  SAY("%lld %lld %lld %lld\n", (long long)integers_c, (long long)addresses_c, (long long)counts_c,
      (long long)types_c);
  if (combiner == MPI_COMBINER_NAMED || integers_c < 0 || integers > 32 || addresses > 32 ||
      types_c > 8)
    return;
  int integer[32] = {0};
  MPI_Aint address[32] = {0};
  MPI_Datatype inner[8];
  CALL(MPI_Type_get_contents(type, 32, 32, 8, integer, address, inner));
  for (int i = 0; i < integers; ++i) SAY("integer %d\n", integer[i]);
  for (int i = 0; i < addresses; ++i) SAY("address %ld\n", (long)address[i]);
  for (int i = 0; i < types; ++i) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0, inner_integers, inner_addresses, inner_types;
    MPI_Type_get_envelope(inner[i], &inner_integers, &inner_addresses, &inner_types, &combiner);
    MPI_Type_get_name(inner[i], name, &length);
    SAY("of %s\n", combiner == MPI_COMBINER_NAMED ? name : "a derived type");
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&inner[i]);
  }
  MPI_Count large[32];
  if (counts_c <= 32 && integers_c <= 32) {
    MPI_Datatype inner_c[8];
    CALL(MPI_Type_get_contents_c(type, 32, 32, counts_c, 8, integer, address, large, inner_c));
    for (int i = 0; i < counts_c; ++i) SAY("count %lld\n", (long long)large[i]);
    for (int i = 0; i < types_c; ++i) {
      int a, b, c;
      MPI_Type_get_envelope(inner_c[i], &a, &b, &c, &combiner);
      if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&inner_c[i]);
    }
  }
}

static void use_and_free(MPI_Datatype type) {
  describe(type);
  CALL(MPI_Type_commit(&type));
  char name[MPI_MAX_OBJECT_NAME] = "unset", own[32];
  int length = -1, size = 0;
  CALL(MPI_Type_get_name(type, name, &length));
  SAY("'%s' %d\n", name, length);
  snprintf(own, sizeof own, "of rank %d", rank);
  CALL(MPI_Type_set_name(type, own));
  MPI_Barrier(MPI_COMM_WORLD);
  CALL(MPI_Type_get_name(type, name, &length));
  SAY("'%s' %d\n", name, length);
  unsigned char from[1024], packed[1024], back[1024];
  for (int i = 0; i < 1024; ++i) from[i] = (unsigned char)(i * 7 + rank);
  memset(packed, 0, sizeof packed);
  memset(back, 0, sizeof back);
  int room = -1, position = 0;
  MPI_Count room_c = -1, position_c = 0;
  CALL(MPI_Pack_size(2, type, MPI_COMM_WORLD, &room));
  CALL(MPI_Pack_size_c(2, type, MPI_COMM_WORLD, &room_c));
  SAY("%d %lld\n", room, (long long)room_c);
  MPI_Type_size(type, &size);
  MPI_Aint lb = 0, extent = 0;
  MPI_Type_get_true_extent(type, &lb, &extent);
  if (size > 0 && 2 * size < 512 && lb >= 0 && lb + 2 * extent < 512) {
    CALL(MPI_Pack(from, 1, type, packed, 512, &position, MPI_COMM_WORLD));
    SAY("%d\n", position);
    CALL(MPI_Pack_c(from, 1, type, packed + position, 512, &position_c, MPI_COMM_WORLD));
    SAY("%lld\n", (long long)position_c);
    for (int i = 0; i < 2 * size; ++i) SAY("%d\n", packed[i]);
    position = 0;
    position_c = size;
    CALL(MPI_Unpack(packed, 512, &position, back, 1, type, MPI_COMM_WORLD));
    CALL(MPI_Unpack_c(packed, 512, &position_c, back, 1, type, MPI_COMM_WORLD));
    SAY("%d %lld equal %d\n", position, (long long)position_c,
        memcmp(back + lb, from + lb, 1) == 0);
    MPI_Aint wide = -1, at = 0;
    MPI_Count wide_c = -1, at_c = 0;
    CALL(MPI_Pack_external_size("external32", 1, type, &wide));
    CALL(MPI_Pack_external_size_c("external32", 1, type, &wide_c));
    SAY("%ld %lld\n", (long)wide, (long long)wide_c);
    CALL(MPI_Pack_external("external32", from, 1, type, packed, 512, &at));
    CALL(MPI_Pack_external_c("external32", from, 1, type, packed, 512, &at_c));
    SAY("%ld %lld %d\n", (long)at, (long long)at_c, packed[0]);
    at = at_c = 0;
    CALL(MPI_Unpack_external("external32", packed, 512, &at, back, 1, type));
    CALL(MPI_Unpack_external_c("external32", packed, 512, &at_c, back, 1, type));
    SAY("%ld %lld\n", (long)at, (long long)at_c);
  }
  CALL(MPI_Type_free(&type));
  SAY("%d\n", type == MPI_DATATYPE_NULL);
}

static void types(void) {
  MPI_Datatype t;
  const int lengths[3] = {2, 1, 3}, places[3] = {6, 0, 2 + rank};
  const MPI_Aint offsets[3] = {0, 16, 40};
  const MPI_Count lengths_c[3] = {2, 1, 3}, places_c[3] = {6, 0, 2 + rank},
                  offsets_c[3] = {0, 16, 40};
  const MPI_Datatype fields[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  next_section("contiguous");
  CALL(MPI_Type_contiguous(3 + rank, MPI_INT, &t));
  use_and_free(t);
  CALL(MPI_Type_contiguous_c(3, MPI_SHORT, &t));
  use_and_free(t);
  CALL(MPI_Type_contiguous(0, MPI_INT, &t));
  use_and_free(t);
  CALL(MPI_Type_contiguous(-1, MPI_INT, &t));
  CALL(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &t));
  CALL(MPI_Type_contiguous(1, MPI_INT, NULL));
  next_section("vectors");
  CALL(MPI_Type_vector(3, 1, 2 + rank, MPI_FLOAT, &t));
  use_and_free(t);
  CALL(MPI_Type_vector_c(3, 1, 2, MPI_FLOAT, &t));
  use_and_free(t);
  CALL(MPI_Type_create_hvector(2, 2, 24, MPI_DOUBLE, &t));
  use_and_free(t);
  CALL(MPI_Type_create_hvector_c(2, 2, 24, MPI_DOUBLE, &t));
  use_and_free(t);
  CALL(MPI_Type_vector(-1, 1, 1, MPI_INT, &t));
  CALL(MPI_Type_vector(1, -1, 1, MPI_INT, &t));
  CALL(MPI_Type_create_hvector(1, 1, 1, MPI_DATATYPE_NULL, &t));
  next_section("indexed");
  CALL(MPI_Type_indexed(3, lengths, places, MPI_INT, &t));
  use_and_free(t);
  CALL(MPI_Type_indexed_c(3, lengths_c, places_c, MPI_INT, &t));
  use_and_free(t);
  CALL(MPI_Type_create_hindexed(3, lengths, offsets, MPI_SHORT, &t));
  use_and_free(t);
  CALL(MPI_Type_create_hindexed_c(3, lengths_c, offsets_c, MPI_SHORT, &t));
  use_and_free(t);
  CALL(MPI_Type_create_indexed_block(3, 2, places, MPI_CHAR, &t));
  use_and_free(t);
  CALL(MPI_Type_create_indexed_block_c(3, 2, places_c, MPI_CHAR, &t));
  use_and_free(t);
  CALL(MPI_Type_create_hindexed_block(3, 2, offsets, MPI_CHAR, &t));
  use_and_free(t);
  CALL(MPI_Type_create_hindexed_block_c(3, 2, offsets_c, MPI_CHAR, &t));
  use_and_free(t);
  CALL(MPI_Type_indexed(-1, lengths, places, MPI_INT, &t));
  CALL(MPI_Type_create_indexed_block(1, -2, places, MPI_INT, &t));
  next_section("structures and arrays");
  CALL(MPI_Type_create_struct(3, lengths, offsets, fields, &t));
  use_and_free(t);
  CALL(MPI_Type_create_struct_c(3, lengths_c, offsets_c, fields, &t));
  use_and_free(t);
  CALL(MPI_Type_create_resized(MPI_INT, -4, 12, &t));
  use_and_free(t);
  CALL(MPI_Type_create_resized_c(MPI_INT, -4, 12, &t));
  use_and_free(t);
  const int sizes[2] = {4, 5}, part[2] = {2, 3}, start[2] = {rank % 2, 1}, outside[2] = {3, 4};
  const MPI_Count sizes_c[2] = {4, 5}, part_c[2] = {2, 3}, start_c[2] = {1, 1};
  CALL(MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_SHORT, &t));
  use_and_free(t);
  CALL(MPI_Type_create_subarray_c(2, sizes_c, part_c, start_c, MPI_ORDER_FORTRAN, MPI_SHORT, &t));
  use_and_free(t);
  CALL(MPI_Type_create_subarray(2, sizes, part, outside, MPI_ORDER_C, MPI_SHORT, &t));
  CALL(MPI_Type_create_subarray(0, sizes, part, start, MPI_ORDER_C, MPI_SHORT, &t));
  const int kinds[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[2] = {2, 2};
  CALL(MPI_Type_create_darray(4, rank % 4, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT,
                              &t));
  use_and_free(t);
  CALL(MPI_Type_create_darray_c(4, rank % 4, 2, sizes_c, kinds, arguments, grid, MPI_ORDER_C,
                                MPI_INT, &t));
  use_and_free(t);
  CALL(MPI_Type_create_darray(4, 7, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT, &t));
  next_section("kinds of Fortran");
  CALL(MPI_Type_create_f90_integer(9, &t));
  describe(t);
  CALL(MPI_Type_create_f90_real(15, 307, &t));
  describe(t);
  CALL(MPI_Type_create_f90_complex(6, 30, &t));
  describe(t);
  CALL(MPI_Type_create_f90_integer(400, &t));
  CALL(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &t));
  describe(t);
  CALL(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 3, &t));
  next_section("wrong types");
  int size;
  MPI_Aint lb, extent;
  char name[MPI_MAX_OBJECT_NAME];
  CALL(MPI_Type_size(MPI_DATATYPE_NULL, &size));
  CALL(MPI_Type_get_extent(MPI_DATATYPE_NULL, &lb, &extent));
  t = MPI_DATATYPE_NULL;
  CALL(MPI_Type_commit(&t));
  CALL(MPI_Type_free(&t));
  t = MPI_INT;
  CALL(MPI_Type_free(&t));
  CALL(MPI_Type_commit(&t));
  CALL(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &size));
  CALL(MPI_Type_get_name(MPI_DOUBLE, name, &size));
  SAY("'%s'\n", name);
  int position = 0, from[8] = {0};
  CALL(MPI_Pack(from, 4, MPI_INT, name, 8, &position, MPI_COMM_WORLD));
  CALL(MPI_Pack(from, -1, MPI_INT, name, 8, &position, MPI_COMM_WORLD));
  CALL(MPI_Pack(from, 1, MPI_DATATYPE_NULL, name, 8, &position, MPI_COMM_WORLD));
  CALL(MPI_Pack(from, 1, MPI_INT, name, 8, &position, MPI_COMM_NULL));
  CALL(MPI_Unpack(name, 8, &position, from, 4, MPI_INT, MPI_COMM_WORLD));
  CALL(MPI_Type_vector(2, 1, 3, MPI_INT, &t));
  CALL(MPI_Pack(from, 1, t, name, 8, &position, MPI_COMM_WORLD));
  CALL(MPI_Type_free(&t));
}

#ifndef MPICH_NO_DEPRECATED
static void old_types(void) {
  next_section("types of MPI-1");
  MPI_Datatype t;
  int lengths[2] = {1, 2};
  MPI_Aint offsets[2] = {0, 8}, bound = -1;
  MPI_Datatype fields[2] = {MPI_INT, MPI_DOUBLE};
  CALL(MPI_Type_hvector(2, 1, 8, MPI_INT, &t));
  CALL(MPI_Type_extent(t, &bound));
  SAY("%ld\n", (long)bound);
  CALL(MPI_Type_lb(t, &bound));
  SAY("%ld\n", (long)bound);
  CALL(MPI_Type_ub(t, &bound));
  SAY("%ld\n", (long)bound);
  use_and_free(t);
  CALL(MPI_Type_hindexed(2, lengths, offsets, MPI_INT, &t));
  use_and_free(t);
  CALL(MPI_Type_struct(2, lengths, offsets, fields, &t));
  use_and_free(t);
}
#endif

static void add_twice(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += 2 * ((int*)in)[i];
}
static void add_thrice(void* in, void* inout, MPI_Count* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += 3 * ((int*)in)[i];
}

static void operations(void) {
  next_section("operations");
  MPI_Op op, op_c, none = MPI_OP_NULL, sum = MPI_SUM;
  int commutes = -1, in[3] = {1, 2, rank}, inout[3] = {10, 20, 30};
  CALL(MPI_Op_create(add_twice, 0, &op));
  CALL(MPI_Op_create_c(add_thrice, 1, &op_c));
  CALL(MPI_Op_commutative(op, &commutes));
  SAY("%d\n", commutes);
  CALL(MPI_Op_commutative(op_c, &commutes));
  SAY("%d\n", commutes);
  CALL(MPI_Op_commutative(MPI_SUM, &commutes));
  SAY("%d\n", commutes);
  CALL(MPI_Reduce_local(in, inout, 3, MPI_INT, op));
  SAY("%d %d %d\n", inout[0], inout[1], inout[2]);
  CALL(MPI_Reduce_local_c(in, inout, 3, MPI_INT, op_c));
  SAY("%d %d %d\n", inout[0], inout[1], inout[2]);
  CALL(MPI_Reduce_local(in, inout, 3, MPI_INT, MPI_SUM));
  SAY("%d %d %d\n", inout[0], inout[1], inout[2]);
  CALL(MPI_Reduce_local(in, inout, -1, MPI_INT, MPI_SUM));
  CALL(MPI_Reduce_local(in, inout, 1, MPI_DOUBLE, MPI_BAND));
  CALL(MPI_Reduce_local(in, inout, 1, MPI_INT, MPI_OP_NULL));
  CALL(MPI_Op_free(&op));
  CALL(MPI_Op_free(&op_c));
  SAY("%d\n", op == MPI_OP_NULL);
  CALL(MPI_Op_free(&none));
  CALL(MPI_Op_free(&sum));
}

static void infos(void) {
  next_section("info");
  MPI_Info info, copy, null = MPI_INFO_NULL;
  char value[64], key[MPI_MAX_INFO_KEY + 1], own[32], long_key[MPI_MAX_INFO_KEY + 8];
  int flag = -1, length = -1, keys = -1;
  snprintf(own, sizeof own, "value of %d", rank);
  memset(long_key, 'k', sizeof long_key);
  long_key[sizeof long_key - 1] = 0;
  CALL(MPI_Info_create(&info));
  CALL(MPI_Info_set(info, "own", own));
  CALL(MPI_Info_set(info, "second", "2"));
  MPI_Barrier(MPI_COMM_WORLD);
  CALL(MPI_Info_get_nkeys(info, &keys));
  SAY("%d\n", keys);
  CALL(MPI_Info_get(info, "own", 63, value, &flag));
  SAY("%d '%s'\n", flag, value);
  CALL(MPI_Info_get(info, "own", 4, value, &flag));
  SAY("%d '%s'\n", flag, value);
  CALL(MPI_Info_get(info, "absent", 63, value, &flag));
  SAY("%d\n", flag);
  CALL(MPI_Info_get_valuelen(info, "own", &length, &flag));
  SAY("%d %d\n", length, flag);
  length = 5;
  CALL(MPI_Info_get_string(info, "own", &length, value, &flag));
  SAY("%d %d '%s'\n", length, flag, value);
  CALL(MPI_Info_get_nthkey(info, 1, key));
  SAY("'%s'\n", key);
  CALL(MPI_Info_get_nthkey(info, 2, key));
  CALL(MPI_Info_get_nthkey(info, -1, key));
  CALL(MPI_Info_dup(info, &copy));
  CALL(MPI_Info_delete(info, "own"));
  CALL(MPI_Info_delete(info, "own"));
  CALL(MPI_Info_get(copy, "own", 63, value, &flag));
  SAY("%d '%s'\n", flag, value);
  CALL(MPI_Info_set(info, long_key, "x"));
  CALL(MPI_Info_set(info, "", "x"));
  CALL(MPI_Info_set(MPI_INFO_NULL, "a", "x"));
  CALL(MPI_Info_free(&info));
  CALL(MPI_Info_free(&copy));
  CALL(MPI_Info_free(&null));
  CALL(MPI_Info_get_nkeys(MPI_INFO_NULL, &keys));
  char* arguments[] = {"name", NULL};
  CALL(MPI_Info_create_env(1, arguments, &info));
  CALL(MPI_Info_free(&info));
}

static void statuses(void) {
  next_section("status");
  MPI_Status status;
  MPI_Fint fortran[16] = {0};
  memset(&status, 0, sizeof status);
  status.MPI_SOURCE = rank;
  status.MPI_TAG = 77;
  status.MPI_ERROR = MPI_ERR_TRUNCATE;
  CALL(MPI_Status_c2f(&status, fortran));
  memset(&status, 0, sizeof status);
  CALL(MPI_Status_f2c(fortran, &status));
  SAY("%d %d %d\n", status.MPI_SOURCE, status.MPI_TAG, status.MPI_ERROR);
}

static void extensions(void) {
  next_section("extensions");
#ifdef MPIX_CUDA_AWARE_SUPPORT
  fprintf(out, "MPIX_Query_cuda_support() -> %d\n", MPIX_Query_cuda_support());
  fprintf(out, "MPIX_Query_hip_support() -> %d\n", MPIX_Query_hip_support());
  fprintf(out, "MPIX_Query_ze_support() -> %d\n", MPIX_Query_ze_support());
  int has = -1;
  CALL(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &has));
  SAY("%d\n", has);
  CALL(MPIX_GPU_query_support(99, &has));
#endif
  CALL(MPI_Pcontrol(1));
}

/* The tools interface, but for its events, which the host has not. */
static void tools(void) {
  next_section("tools");
  int provided = -1, count = -1, index = -1, length = 64, text_length = 64, verbosity, bind, scope,
      class, read_only, continuous, atomic, event_count = -1, stamp = -1, items = -1;
  char name[64], text[64];
  MPI_Datatype type;
  MPI_T_enum values;
  CALL(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  CALL(MPI_T_cvar_get_num(&count));
  CHECK(count > 0);
  long letters = 0;
  for (int i = 0; i < count; ++i) {
    length = text_length = 64;
    CHECK(MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, &values, text, &text_length,
                              &bind, &scope) == MPI_SUCCESS);
    letters += length;
    CHECK(MPI_T_cvar_get_index(name, &index) ==
          (length > 64 ? MPI_T_ERR_INVALID_NAME : MPI_SUCCESS));
    if (values != MPI_T_ENUM_NULL &&
        MPI_T_enum_get_info(values, &items, name, &length) == MPI_SUCCESS && items > 0) {
      int value;
      length = 64;
      CHECK(MPI_T_enum_get_item(values, 0, &value, name, &length) == MPI_SUCCESS);
    }
    MPI_T_cvar_handle handle;
    int elements = 0;
    char contents[4096];
    if (bind == MPI_T_BIND_NO_OBJECT &&
        MPI_T_cvar_handle_alloc(i, NULL, &handle, &elements) == MPI_SUCCESS) {
      if (elements > 0 && elements < 512) CHECK(MPI_T_cvar_read(handle, contents) == MPI_SUCCESS);
      if (scope == MPI_T_SCOPE_CONSTANT) CHECK(MPI_T_cvar_write(handle, contents) != MPI_SUCCESS);
      CHECK(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS && handle == MPI_T_CVAR_HANDLE_NULL);
    }
  }
  SAY("%d %ld\n", count, letters);
  CALL(MPI_T_cvar_get_info(count, name, &length, &verbosity, &type, &values, text, &text_length,
                           &bind, &scope));
  CALL(MPI_T_cvar_get_index("no such variable", &index));
  CALL(MPI_T_pvar_get_num(&count));
  letters = 0;
  for (int i = 0; i < count; ++i) {
    length = text_length = 64;
    CHECK(MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &values, text,
                              &text_length, &bind, &read_only, &continuous,
                              &atomic) == MPI_SUCCESS);
    letters += length;
    CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS && index == i);
  }
  SAY("%d %ld\n", count, letters);
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  int elements;
  double number[8];
  CALL(MPI_T_pvar_get_info(count, name, &length, &verbosity, &class, &type, &values, text,
                           &text_length, &bind, &read_only, &continuous, &atomic));
  CALL(MPI_T_pvar_session_create(&session));
  CALL(MPI_T_pvar_handle_alloc(session, count, NULL, &handle, &elements));
  for (int i = 0; i < count; ++i) {
    length = text_length = 64;
    MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &values, text, &text_length,
                        &bind, &read_only, &continuous, &atomic);
    if (bind != MPI_T_BIND_NO_OBJECT ||
        MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &elements) != MPI_SUCCESS)
      continue;
    fprintf(out, "%s:\n", name);
    if (!continuous) CALL(MPI_T_pvar_start(session, handle));
    if (elements == 1) CALL(MPI_T_pvar_read(session, handle, number));
    if (elements == 1 && !read_only) CALL(MPI_T_pvar_write(session, handle, number));
    if (elements == 1 && !read_only) CALL(MPI_T_pvar_readreset(session, handle, number));
    CALL(MPI_T_pvar_reset(session, handle));
    if (!continuous) CALL(MPI_T_pvar_stop(session, handle));
    CALL(MPI_T_pvar_handle_free(session, &handle));
  }
  CALL(MPI_T_pvar_session_free(&session));
  CALL(MPI_T_category_get_num(&count));
  letters = 0;
  for (int i = 0; i < count; ++i) {
    int variables, performance, categories;
    length = text_length = 64;
    CHECK(MPI_T_category_get_info(i, name, &length, text, &text_length, &variables, &performance,
                                  &categories) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_index(name, &index) == MPI_SUCCESS && index == i);
    int* members = malloc((size_t)(variables + performance + categories + 1) * sizeof *members);
    CHECK(MPI_T_category_get_cvars(i, variables, members) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_pvars(i, performance, members) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_categories(i, categories, members) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_num_events(i, &event_count) == MPI_SUCCESS && event_count >= 0);
    CHECK(MPI_T_category_get_events(i, 0, members) == MPI_SUCCESS);
    free(members);
    letters += variables + performance + categories;
  }
  SAY("%d %ld\n", count, letters);
  CALL(MPI_T_category_changed(&stamp));
  CALL(MPI_T_finalize());
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  char path[4096];
  CHECK(argc == 2);
  snprintf(path, sizeof path, "%s/%d", argv[1], rank);
  out = fopen(path, "w");
  CHECK(out);
  types();
#ifndef MPICH_NO_DEPRECATED
  old_types();
#endif
  operations();
  infos();
  statuses();
  extensions();
  tools();
  CHECK(fclose(out) == 0);
  return finish();
}
