/* Windows over all ranks, of any MPI: creation and freeing beside duplicates of the communicator, a
 * fence beside a barrier, resident memory of a process for windows of 1 KiB a rank, of which
 * nothing is touched.
 *
 *   mpiexec -n 2 -nfg 5000 rma_windows */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { kTimes = 5 };

static double resident(void) {
  long pages = 0, size = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%ld %ld", &size, &pages) != 2) pages = 0;
  if (f) fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm dups[kTimes];
  MPI_Win wins[kTimes];
  char* memory;
  double t[6];
  MPI_Barrier(MPI_COMM_WORLD);
  t[0] = MPI_Wtime();
  for (int i = 0; i < kTimes; i++) MPI_Comm_dup(MPI_COMM_WORLD, &dups[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  t[1] = MPI_Wtime();
  const double before = resident();
  for (int i = 0; i < kTimes; i++)
    MPI_Win_allocate(1024, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &wins[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  const double after = resident();
  t[2] = MPI_Wtime();
  for (int i = 0; i < kTimes; i++) MPI_Barrier(MPI_COMM_WORLD);
  t[3] = MPI_Wtime();
  MPI_Win_fence(0, wins[0]);
  t[4] = MPI_Wtime();
  for (int i = 0; i < kTimes; i++) MPI_Win_fence(0, wins[0]);
  t[5] = MPI_Wtime();
  if (rank == 0)
    printf(
        "%d ranks: dup %.3f ms, MPI_Win_allocate %.3f ms (%.2f dups), barrier %.3f ms, fence %.3f "
        "ms "
        "(%.2f barriers); process of rank 0: %.0f bytes a window\n",
        size, (t[1] - t[0]) / kTimes * 1e3, (t[2] - t[1]) / kTimes * 1e3,
        (t[2] - t[1]) / (t[1] - t[0]), (t[3] - t[2]) / kTimes * 1e3, (t[5] - t[4]) / kTimes * 1e3,
        (t[5] - t[4]) / (t[3] - t[2]), (after - before) / kTimes);
  for (int i = 0; i < kTimes; i++) MPI_Win_free(&wins[i]);
  for (int i = 0; i < kTimes; i++) MPI_Comm_free(&dups[i]);
  MPI_Finalize();
  return 0;
}
