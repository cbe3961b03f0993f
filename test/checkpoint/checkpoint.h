/* What the programs of this folder share. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fgmpi.h"

static int rank, size, failures;

#define CHECK(condition)                                                                      \
  do {                                                                                        \
    if (!(condition) && ++failures < 10)                                                      \
      fprintf(stderr, "%s:%d: rank %d: %s is wrong\n", __FILE__, __LINE__, rank, #condition); \
  } while (0)

static void start(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}

__attribute__((unused)) static void checkpoint(void) {
  int flag = -1;
  const int code = MPIX_Checkpoint(MPI_COMM_WORLD, &flag);
  CHECK(code == MPI_SUCCESS && flag != MPIX_CHECKPOINT_NONE);
}

static int finish(void) {
  int all;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && !all) printf("No Errors\n");
  return all != 0;
}
