/* Extensions: how communicators are stored, re-ranking, translation and comparison by communicator.
 */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

/* A communicator whose order is no regular shape from 3 ranks on: the last two have changed places.
 * Its map must then be stored; with fewer ranks there is nothing to store. */
static MPI_Comm irregular(int rank, int size) {
  MPI_Comm made;
  int key = rank;
  if (size >= 3 && rank >= size - 2) key = rank == size - 1 ? size - 2 : size - 1;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, key, &made));
  return made;
}

/* `comm`'s map is stored, and used by exactly `sharing` communicators of this process; bytes of it.
 */
static MPI_Count check_stored(MPI_Comm comm, int size, int sharing, const char* encoding) {
  MPIX_Map_info info;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPIX_Comm_map_info(comm, &info));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (size < 3) {
    CHECK(strcmp(info.model, "lut") != 0 && info.sharing == 1 && info.map_bytes == 0);
    return 0;
  }
  CHECK(strcmp(info.model, "lut") == 0 && info.encoding[0] != '\0' && info.map_bytes > 0);
  CHECK(info.sharing == sharing);
  if (encoding) CHECK(strncmp(info.encoding, encoding, strlen(encoding)) == 0);
  return info.map_bytes;
}

static void test_sharing(int rank, int size, const int* all, int* out) {
  MPI_Comm mixed = irregular(rank, size), copy, array, other;
  MPI_Count alone;
  MPI_Info hint;
  int r, result;
  check_stored(mixed, size, 1, NULL);
  /* A duplicate and a re-ranking that changes nothing share its map. */
  OK(MPI_Comm_dup(mixed, &copy));
  check_stored(copy, size, 2, NULL);
  OK(MPI_Comm_rank(mixed, &r));
  OK(MPIX_Comm_split(mixed, MPIX_PERMUTE, r, &other));
  check_stored(other, size, 3, NULL);
  OK(MPI_Comm_free(&other));
  OK(MPI_Comm_free(&copy));
  check_stored(mixed, size, 1, NULL);
  /* A hint stores it anew. */
  OK(MPI_Info_create(&hint));
  OK(MPI_Info_set(hint, "fgmpi_groupmap", "array"));
  OK(MPI_Comm_dup_with_info(mixed, hint, &array));
  check_stored(mixed, size, 1, NULL);
  alone = check_stored(array, size, 1, "array");
  OK(MPIX_Comm_compare(mixed, array, &result));
  CHECK(result == MPI_IDENT);
  /* Another order, irregular too where there are 4 ranks, keeps the stored set: the same object,
   * under a permutation. */
  OK(MPIX_Comm_split(array, MPIX_PERMUTE, (r + size - 1) % size, &other));
  if (size >= 4) {
    CHECK(check_stored(other, size, 2, "permuted") > alone);
    check_stored(array, size, 2, "array");
  }
  OK(MPIX_Comm_translate_ranks(other, size, all, array, out));
  OK(MPI_Comm_rank(other, &result));
  CHECK(result == (r + size - 1) % size && out[result] == r);
  OK(MPI_Comm_free(&other));
  check_stored(array, size, 1, "array");
  /* The hint applies to what is made: for a job on one host, the same group. */
  OK(MPI_Comm_split_type(mixed, MPI_COMM_TYPE_SHARED, 0, hint, &copy));
  OK(MPI_Comm_size(copy, &result));
  if (result == size) check_stored(copy, size, 1, "array");
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&array));
  OK(MPI_Comm_free(&mixed));
  OK(MPI_Info_free(&hint));
}

int main(int argc, char** argv) {
  int rank, size, r, result, i, *in, *out;
  MPIX_Map_info info;
  MPI_Comm back, again;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPIX_Comm_map_info(MPI_COMM_WORLD, &info));
  CHECK(strcmp(info.model, "direct") == 0 && info.map_bytes == 0);
  OK(MPIX_Comm_split(MPI_COMM_WORLD, MPIX_PERMUTE, -rank, &back));
  OK(MPI_Comm_rank(back, &r));
  CHECK(r == size - 1 - rank);
  OK(MPIX_Comm_compare(MPI_COMM_WORLD, back, &result));
  CHECK(result == (size > 1 ? MPI_SIMILAR : MPI_IDENT));
  OK(MPIX_Comm_split(back, MPIX_PERMUTE, rank, &again));
  OK(MPIX_Comm_compare(MPI_COMM_WORLD, again, &result));
  CHECK(result == MPI_IDENT);
  in = malloc(sizeof(int) * (size_t)size);
  out = malloc(sizeof(int) * (size_t)size);
  for (i = 0; i < size; ++i) in[i] = i;
  OK(MPIX_Comm_translate_ranks(back, size, in, again, out));
  for (i = 0; i < size; ++i) CHECK(out[i] == size - 1 - i);
  test_sharing(rank, size, in, out);
  OK(MPI_Comm_free(&again));
  OK(MPI_Comm_free(&back));
  free(in);
  free(out);
  return finish();
}
