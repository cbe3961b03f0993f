/* Each run makes communicators, a window and a file, is saved, and ends; the next one goes on there
 * and makes more. What was made by all runs stays apart. */
#include <unistd.h>

#include "checkpoint.h"

enum { kRuns = 4 };
static MPI_Comm all[kRuns], part[kRuns];
static MPI_Win win[kRuns];
static MPI_File file[kRuns];
static int* memory[kRuns];

static void make(int run) {
  static char name[100];
  /* Ranks have handles in different orders. */
  if (rank % 2) MPI_Comm_dup(MPI_COMM_SELF, &part[run]);
  MPI_Comm_dup(MPI_COMM_WORLD, &all[run]);
  if (rank % 2) MPI_Comm_free(&part[run]);
  MPI_Comm_split(MPI_COMM_WORLD, run, -rank, &part[run]);
  MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, part[run], &memory[run], &win[run]);
  *memory[run] = 10 * run;
  snprintf(name, sizeof name, "generation.%d", run);
  MPI_File_open(all[run], name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file[run]);
  MPI_File_write_ordered(file[run], &run, 1, MPI_INT, MPI_STATUS_IGNORE);
}

static void check(int run) {
  int sum, mine, from = -1, got = -1;
  MPI_Allreduce(&run, &sum, 1, MPI_INT, MPI_SUM, all[run]);
  CHECK(sum == size * run);
  MPI_Comm_rank(part[run], &mine);
  CHECK(mine == size - 1 - rank);
  MPI_Win_fence(0, win[run]);
  MPI_Get(&from, 1, MPI_INT, (mine + 1) % size, 0, 1, MPI_INT, win[run]);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win[run]);
  CHECK(from == 10 * run);
  MPI_File_read_at(file[run], (MPI_Offset)sizeof(int) * rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
  CHECK(got == run);
}

int main(int argc, char** argv) {
  int run, flag = MPIX_CHECKPOINT_RESTARTED;
  start(&argc, &argv);
  for (run = 0; run < kRuns && flag == MPIX_CHECKPOINT_RESTARTED; ++run) {
    make(run);
    MPIX_Checkpoint(MPI_COMM_WORLD, &flag);
    CHECK(flag != MPIX_CHECKPOINT_NONE);
    for (int before = 0; before <= run; ++before) check(before);
  }
  if (rank == 0) printf("runs: %d\n", run);
  for (int before = 0; before < run; ++before) {
    MPI_File_close(&file[before]);
    MPI_Win_free(&win[before]);
    MPI_Comm_free(&part[before]);
    MPI_Comm_free(&all[before]);
  }
  return finish();
}
