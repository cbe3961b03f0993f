/* checkpoint_cost KIB [CHANGED]: each rank has so much memory with noise, takes three checkpoints, and
 * changes CHANGED percent of its pages between them (10). Rank 0 prints the seconds that the job stood
 * still at each, or "restarted" and the time since the epoch. checkpoint_cost.py makes a table of that. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fgmpi.h"

enum { kPage = 4096 };

static double since_epoch(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The next checkpoint is based on one that has its name; the last one needs no other. */
static void await_name(int number) {
  char path[4096];
  const char* folder = getenv("FGMPI_CHECKPOINT_DIR");
  snprintf(path, sizeof path, "%s/%d", folder ? folder : "", number);
  while (folder && number < 3 && access(path, F_OK) != 0) MPIX_Usleep(10000);
}

static unsigned fill(char* memory, size_t bytes, unsigned seed) {
  for (size_t i = 0; i + sizeof seed <= bytes; i += sizeof seed) {
    seed = seed * 1664525u + 1013904223u;
    *(unsigned*)(memory + i) = seed;
  }
  return seed;
}

int main(int argc, char** argv) {
  int rank, flag;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const size_t bytes = (size_t)(argc > 1 ? atol(argv[1]) : 64) * 1024, pages = bytes / kPage;
  const size_t changed = argc > 2 ? (size_t)atol(argv[2]) : 10;
  char* memory = malloc(bytes);
  unsigned seed = fill(memory, bytes, (unsigned)rank + 1);
  for (int i = 0; i < 3; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPIX_Checkpoint(MPI_COMM_WORLD, &flag);
    MPI_Barrier(MPI_COMM_WORLD);
    const double stood = MPI_Wtime() - start;
    if (rank == 0 && flag == MPIX_CHECKPOINT_TAKEN) printf("stood %.6f\n", stood);
    if (rank == 0 && flag == MPIX_CHECKPOINT_RESTARTED) printf("restarted %.6f\n", since_epoch());
    if (rank == 0 && flag == MPIX_CHECKPOINT_NONE) printf("no checkpoint\n");
    fflush(stdout);
    if (flag == MPIX_CHECKPOINT_RESTARTED) break;
    for (size_t page = 0; page < pages * changed / 100; ++page)
      seed = fill(memory + page * kPage, kPage, seed);
    await_name(i + 1);
  }
  free(memory);
  MPI_Finalize();
  return 0;
}
