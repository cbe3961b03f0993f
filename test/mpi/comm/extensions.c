/* Extensions: how communicators are stored, re-ranking, translation and comparison by communicator. */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

int main(int argc, char** argv) {
  int rank, size, r, result, i, shares, *in, *out;
  MPI_Count alone;
  MPIX_Map_info info;
  MPI_Comm back, again, mixed, copy;
  MPI_Info hint;
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
  /* An irregular order: a duplicate and a re-ranking that changes nothing share its map; a hint stores it anew. */
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, (int)((unsigned)rank * 2654435761u >> 4), &mixed));
  OK(MPI_Comm_dup(mixed, &copy));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPIX_Comm_map_info(copy, &info));
  if (strcmp(info.model, "lut") == 0) CHECK(info.sharing >= 2 && info.encoding[0] != '\0');
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_rank(mixed, &r));
  OK(MPIX_Comm_split(mixed, MPIX_PERMUTE, r, &copy));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPIX_Comm_map_info(copy, &info));
  if (strcmp(info.model, "lut") == 0) CHECK(info.sharing >= 2);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Comm_free(&copy));
  /* A new order keeps the stored set: shared, the same object, under a permutation. */
  OK(MPI_Comm_rank(mixed, &r));
  OK(MPIX_Comm_map_info(mixed, &info));
  shares = strcmp(info.model, "lut") == 0 && strstr(info.encoding, "set=") == NULL;
  alone = info.map_bytes;
  OK(MPIX_Comm_split(mixed, MPIX_PERMUTE, (int)((unsigned)r * 2246822519u >> 5), &copy));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPIX_Comm_map_info(copy, &info));
  if (shares && strstr(info.encoding, "permuted") != NULL) CHECK(info.sharing >= 2 && info.map_bytes > alone);
  OK(MPIX_Comm_translate_ranks(copy, size, in, mixed, out));
  OK(MPI_Comm_rank(copy, &result));
  CHECK(out[result] == r);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Info_create(&hint));
  OK(MPI_Info_set(hint, "fgmpi_groupmap", "array"));
  OK(MPI_Comm_dup_with_info(mixed, hint, &copy));
  OK(MPIX_Comm_map_info(copy, &info));
  if (strcmp(info.model, "lut") == 0) CHECK(strcmp(info.encoding, "array") == 0);
  OK(MPIX_Comm_compare(mixed, copy, &result));
  CHECK(result == MPI_IDENT);
  OK(MPI_Comm_free(&copy));
  /* Hosts: all of this job on one machine, or parts of it; the order follows the keys. */
  OK(MPI_Comm_split_type(mixed, MPI_COMM_TYPE_SHARED, 0, hint, &copy));
  OK(MPIX_Comm_map_info(copy, &info));
  if (strcmp(info.model, "lut") == 0) CHECK(strcmp(info.encoding, "array") == 0);
  OK(MPI_Comm_free(&copy));
  OK(MPI_Info_free(&hint));
  OK(MPI_Comm_free(&mixed));
  OK(MPI_Comm_free(&again));
  OK(MPI_Comm_free(&back));
  free(in);
  free(out);
  return finish();
}
