/* MPI_Get_hw_resource_info, and MPI_Comm_split_type by resources and process sets. */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

static int rank, size;

static MPI_Comm split(const char* key, const char* value) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm made = MPI_COMM_WORLD;
  if (key) {
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
  }
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, -rank, info, &made));
  if (key) OK(MPI_Info_free(&info));
  return made;
}

static void expect(const char* key, const char* value, int wanted) {
  MPI_Comm made = split(key, value);
  if (wanted == 0) {
    CHECK(made == MPI_COMM_NULL);
    return;
  }
  int n, first = 0;
  OK(MPI_Comm_size(made, &n));
  CHECK(n == wanted);
  OK(MPI_Allreduce(&rank, &first, 1, MPI_INT, MPI_MAX, made));
  int mine;
  OK(MPI_Comm_rank(made, &mine));
  CHECK((mine == 0) == (rank == first)); /* the key orders the members */
  OK(MPI_Comm_free(&made));
}

int main(int argc, char** argv) {
  MPI_Info hardware;
  int keys, restricted = 0;
  OK(MPI_Get_hw_resource_info(&hardware)); /* allowed before MPI_Init */
  OK(MPI_Info_get_nkeys(hardware, &keys));
  CHECK(keys > 0);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1], value[6];
    int length = sizeof value, flag, all;
    OK(MPI_Info_get_nthkey(hardware, i, key));
    CHECK(!strncmp(key, "hwloc://", 8));
    OK(MPI_Info_get_string(hardware, key, &length, value, &flag));
    CHECK(flag && (!strcmp(value, "true") || !strcmp(value, "false")));
    /* A process that is restricted to one instance gets a communicator for it. */
    const int is = !strcmp(value, "true");
    restricted += is;
    OK(MPI_Allreduce(&is, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    MPI_Comm made = split("mpi_hw_resource_type", key);
    if (all) CHECK(made != MPI_COMM_NULL);
    if (!is) CHECK(made == MPI_COMM_NULL);
    if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
  }
  CHECK(restricted > 0); /* the machine at least */
  OK(MPI_Info_free(&hardware));

  int collocated, first;
  OK(MPIX_Get_collocated_size(&collocated));
  OK(MPIX_Get_collocated_startrank(&first));
  expect("mpi_pset_name", "mpi://WORLD", size);
  expect("mpi_pset_name", "mpi://SELF", 1);
  expect("mpi_pset_name", "fgmpi://PROCESS", collocated);
  expect("mpi_hw_resource_type", "mpi_shared_memory", size);
  expect("mpi_pset_name", "nothing://like/it", 0);
  expect("mpi_hw_resource_type", "nothing://like/it", 0);
  expect("other_key", "1", 0);
  expect(NULL, NULL, 0);
  return finish();
}
