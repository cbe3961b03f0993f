/* FG-MPI's interface: a leader election in a ring (LeLann, Chang and Roberts), one function for all
 * ranks. main and the map's actions run once a process; ranks of a process share its variables. */
#include <fgmpi.h>

#include "mpitest.h"

static int mains = 0, lookups = 0, first_actions = 0, last_actions = 0, asked = 0, ended = 0;

static int elect(int argc, char** argv) {
  int rank, size, here, mine, best, round, leader;
  CHECK(argc == 1 && argv[1] == NULL);
  argv[0] = NULL; /* everybody's own */
  OK(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPIX_Get_collocated_size(&here));
  CHECK(mains == 1 && lookups == 1 && first_actions == 1 && last_actions == 0);
  best = mine = (int)((rank * 7919L + 13) % 10007);
  for (round = 1; round < size; ++round) {
    int seen;
    OK(MPI_Sendrecv(&best, 1, MPI_INT, (rank + 1) % size, 2, &seen, 1, MPI_INT,
                    (rank + size - 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (seen > best) best = seen;
  }
  OK(MPI_Allreduce(&mine, &leader, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  CHECK(best == leader);
  CHECK(asked >= 1 && asked <= here);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(asked == here);
  ++ended;
  if (rank == 0) printf(" No Errors\n");
  OK(MPI_Finalize());
  return 77; /* ignored */
}

static FG_ProcessPtr_t map(int argc, char** argv, int rank) {
  (void)argc, (void)argv;
  if (rank == MAP_INIT_ACTION) {
    ++first_actions;
  } else if (rank == MAP_FINALIZE_ACTION) {
    ++last_actions;
  } else {
    ++asked;
  }
  return &elect;
}

static FG_MapPtr_t lookup(int argc, char** argv, char* name) {
  (void)argc, (void)argv;
  if (name) return NULL;
  ++lookups;
  return &map;
}

int main(int argc, char* argv[]) {
  ++mains;
  FGmpiexec(&argc, &argv, &lookup);
  if (ended != asked || first_actions != 1 || last_actions != 1 || mains != 1) {
    fprintf(stderr, "%d functions ended of %d, actions %d and %d, %d mains\n", ended, asked,
            first_actions, last_actions, mains);
    return 1;
  }
  return 0;
}
