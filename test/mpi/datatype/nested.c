/* Datatypes nested 20,000 deep on stacks of 64 KiB: every call that takes a datatype works, and so
 * does freeing the last one. */
#include <string.h>

#include "../mpitest.h"

enum { kDepth = 20000 };

static int rank, size;

/* Types of one int, each made of the one before. */
static MPI_Datatype make_narrow(void) {
  MPI_Datatype type, outer;
  OK(MPI_Type_contiguous(1, MPI_INT, &type));
  for (int i = 1; i < kDepth; i++) {
    if (i % 3 == 0)
      OK(MPI_Type_contiguous(1, type, &outer));
    else if (i % 3 == 1)
      OK(MPI_Type_dup(type, &outer));
    else
      OK(MPI_Type_create_resized(type, 0, 4 + 4 * (i % 2), &outer));
    OK(MPI_Type_free(&type));
    type = outer;
  }
  OK(MPI_Type_commit(&type));
  return type;
}

/* Types that have one block more than the one before. */
static MPI_Datatype make_wide(void) {
  MPI_Datatype type, outer;
  OK(MPI_Type_contiguous(1, MPI_INT, &type));
  for (int i = 1; i < kDepth; i++) {
    MPI_Aint lb, extent;
    OK(MPI_Type_get_extent(type, &lb, &extent));
    const int lengths[] = {1, 1 + i % 3};
    const MPI_Aint places[] = {0, extent + i % 7};
    const MPI_Datatype types[] = {type, i % 2 ? MPI_INT : MPI_CHAR};
    OK(MPI_Type_create_struct(2, lengths, places, types, &outer));
    OK(MPI_Type_free(&type));
    type = outer;
  }
  OK(MPI_Type_commit(&type));
  return type;
}

static void check_contents(MPI_Datatype type) {
  int integers, addresses, types, combiner, numbers[3];
  MPI_Aint places[2];
  MPI_Datatype inner[2];
  OK(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
  CHECK(integers <= 3 && addresses <= 2 && types <= 2);
  OK(MPI_Type_get_contents(type, 3, 2, 2, numbers, places, inner));
  MPI_Count outer_size, inner_size;
  OK(MPI_Type_size_x(type, &outer_size));
  OK(MPI_Type_size_x(inner[0], &inner_size));
  CHECK(inner_size <= outer_size);
  OK(MPI_Type_free(&inner[0]));
}

static void exchange(MPI_Datatype type) {
  MPI_Count lb, extent, bytes;
  MPI_Status status;
  int count, elements;
  OK(MPI_Type_get_true_extent_x(type, &lb, &extent));
  OK(MPI_Type_get_extent_x(type, &lb, &extent));
  OK(MPI_Type_size_x(type, &bytes));
  char *out = calloc(2, extent), *in = calloc(2, extent), *got = calloc(2, extent);
  char* packed = malloc(2 * bytes);
  for (MPI_Count i = 0; i < 2 * bytes; i++) packed[i] = (char)(i * 7 + i / 251 + rank);
  int position = 0, left = (rank + size - 1) % size, right = (rank + 1) % size;
  OK(MPI_Unpack(packed, 2 * bytes, &position, out, 2, type, MPI_COMM_WORLD));
  CHECK(position == 2 * bytes);
  OK(MPI_Sendrecv(out, 2, type, right, 1, in, 2, type, left, 1, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count(&status, type, &count));
  CHECK(count == 2);
  OK(MPI_Get_elements(&status, type, &elements));
  CHECK(elements >= 2 && elements <= 2 * bytes);
  OK(MPI_Sendrecv(in, 2, type, left, 2, got, 2, type, right, 2, MPI_COMM_WORLD, &status));
  CHECK(memcmp(got, out, 2 * extent) == 0);
  OK(MPI_Sendrecv(packed, 2 * bytes, MPI_BYTE, rank, 3, got, 2, type, rank, 3, MPI_COMM_WORLD,
                  &status));
  CHECK(memcmp(got, out, 2 * extent) == 0);

  char* all = calloc(2 * size, extent);
  OK(MPI_Allgather(out, 2, type, all, 2, type, MPI_COMM_WORLD));
  CHECK(memcmp(all + 2 * rank * extent, out, 2 * extent) == 0);
  memcpy(in, out, 2 * extent);
  OK(MPI_Bcast(in, 2, type, 0, MPI_COMM_WORLD));
  CHECK(memcmp(in, all, 2 * extent) == 0);
  free(all);

  MPI_Win window;
  memset(in, 0, 2 * extent);
  OK(MPI_Win_create(in, 2 * extent, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
  OK(MPI_Win_fence(0, window));
  OK(MPI_Put(out, 2, type, right, 0, 2, type, window));
  OK(MPI_Win_fence(0, window));
  memset(got, 0, 2 * extent);
  OK(MPI_Get(got, 2, type, right, 0, 2, type, window));
  OK(MPI_Win_fence(0, window));
  CHECK(memcmp(got, out, 2 * extent) == 0);
  OK(MPI_Win_free(&window));

  MPI_Aint external;
  OK(MPI_Pack_external_size("external32", 2, type, &external));
  CHECK(external == 2 * bytes);
  char* canonical = malloc(external);
  MPI_Aint at = 0;
  OK(MPI_Pack_external("external32", out, 2, type, canonical, external, &at));
  memset(got, 0, 2 * extent);
  at = 0;
  OK(MPI_Unpack_external("external32", canonical, external, &at, got, 2, type));
  CHECK(memcmp(got, out, 2 * extent) == 0);
  free(canonical);
  free(packed);
  free(out);
  free(in);
  free(got);
}

static void file_view(MPI_Datatype type) {
  MPI_File file;
  char name[64];
  int out = rank + 5, in = 0;
  snprintf(name, sizeof name, "nested_%d.data", rank);
  OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  for (int i = 0; i < 2; i++) {
    OK(MPI_File_set_view(file, 0, MPI_BYTE, type, i ? "external32" : "native", MPI_INFO_NULL));
    OK(MPI_File_write_at(file, 3, &out, 4, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(file, 3, &in, 4, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(in == out);
  }
  OK(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  MPI_Datatype types[] = {make_narrow(), make_wide()};
  for (int i = 0; i < 2; i++) {
    check_contents(types[i]);
    exchange(types[i]);
    file_view(types[i]);
    OK(MPI_Type_free(&types[i]));
  }
  return finish();
}
