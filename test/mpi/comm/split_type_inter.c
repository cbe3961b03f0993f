/* MPI_Comm_split_type on intercommunicators: by host, by hardware guided and unguided, with info,
 * by directory, and where one group has nobody of a kind. Groups by parity (processes host members
 * of both) and by halves. */
#include <string.h>

#include "mpitest.h"

static int rank, size;
static int *place, *side; /* of all ranks: the first rank of its process, its group */

/* The members of both groups for which place matches, or of all; NULL where a group has none. */
static void check(MPI_Comm made, int by_place, int my_key) {
  int n[2] = {0, 0}, before = 0, made_rank, a, b, inter, sum = 0, one = 1;
  for (int r = 0; r < size; r++) {
    if (by_place && place[r] != place[rank]) continue;
    n[side[r]]++;
    if (side[r] == side[rank] && (my_key < 0 ? r > rank : r < rank)) before++;
  }
  CHECK((made == MPI_COMM_NULL) == (n[0] == 0 || n[1] == 0));
  if (made == MPI_COMM_NULL) return;
  OK(MPI_Comm_test_inter(made, &inter));
  OK(MPI_Comm_size(made, &a));
  OK(MPI_Comm_remote_size(made, &b));
  OK(MPI_Comm_rank(made, &made_rank));
  CHECK(inter && a == n[side[rank]] && b == n[!side[rank]] && made_rank == before);
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made));
  CHECK(sum == b);
  OK(MPI_Comm_free(&made));
}

static void split_all_ways(MPI_Comm inter) {
  MPI_Comm made;
  MPI_Info info;
  char level[MPI_MAX_INFO_VAL + 1];
  int flag, a, b;
  OK(MPI_Info_create(&info));
  /* All ranks of this test share the host. Keys order the members. */
  OK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &made));
  check(made, 0, 1);
  OK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &made));
  check(made, 0, -1);
  OK(MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
  OK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_HW_GUIDED, 0, info, &made));
  check(made, 0, 1);
  OK(MPI_Info_set(info, "mpi_hw_resource_type", "process"));
  OK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_HW_GUIDED, 0, info, &made));
  check(made, 1, 1);
  OK(MPI_Info_set(info, "mpi_hw_resource_type", "no such thing"));
  OK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_HW_GUIDED, 0, info, &made));
  CHECK(made == MPI_COMM_NULL);
  OK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_HW_GUIDED, 0, MPI_INFO_NULL, &made));
  CHECK(made == MPI_COMM_NULL);
  /* By a directory that all see, and one that there is not. */
  OK(MPI_Info_set(info, "nbhd_common_dirname", "/tmp"));
  OK(MPI_Comm_split_type(inter, MPIX_COMM_TYPE_NEIGHBORHOOD, 0, info, &made));
  check(made, 0, 1);
  OK(MPI_Info_set(info, "nbhd_common_dirname", "/no/such/directory"));
  OK(MPI_Comm_split_type(inter, MPIX_COMM_TYPE_NEIGHBORHOOD, 0, info, &made));
  CHECK(made == MPI_COMM_NULL);
  /* One group wants none: then the other has none either. */
  OK(MPI_Comm_split_type(inter, side[rank] ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                         &made));
  CHECK(made == MPI_COMM_NULL);
  OK(MPI_Comm_split_type(inter, side[rank] ? MPI_UNDEFINED : MPI_COMM_TYPE_HW_UNGUIDED, 0, info,
                         &made));
  CHECK(made == MPI_COMM_NULL);
  /* Unguided: smaller than what there was, and the info says by what it fell apart. */
  OK(MPI_Info_delete(info, "mpi_hw_resource_type"));
  OK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &made));
  if (made != MPI_COMM_NULL) {
    OK(MPI_Comm_size(made, &a));
    OK(MPI_Comm_remote_size(made, &b));
    CHECK(a + b < size);
    OK(MPI_Info_get(info, "mpi_hw_resource_type", MPI_MAX_INFO_VAL, level, &flag));
    CHECK(flag && strlen(level) > 0);
    OK(MPI_Comm_free(&made));
  }
  OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  MPI_Comm local, inter, process;
  MPI_Info info;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (size == 1) return finish();
  place = malloc(sizeof(int) * (size_t)size);
  side = malloc(sizeof(int) * (size_t)size);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_hw_resource_type", "process"));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &process));
  int first = rank;
  OK(MPI_Bcast(&first, 1, MPI_INT, 0, process));
  OK(MPI_Allgather(&first, 1, MPI_INT, place, 1, MPI_INT, MPI_COMM_WORLD));
  OK(MPI_Comm_free(&process));
  OK(MPI_Info_free(&info));
  for (int by_halves = 0; by_halves < 2; by_halves++) {
    for (int r = 0; r < size; r++) side[r] = by_halves ? r >= size / 2 : r % 2;
    int other_first = side[rank] ? 0 : by_halves ? size / 2 : 1;
    OK(MPI_Comm_split(MPI_COMM_WORLD, side[rank], 0, &local));
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, other_first, 12, &inter));
    split_all_ways(inter);
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
  }
  free(place);
  free(side);
  return finish();
}
