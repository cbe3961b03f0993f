/* What a large job costs: memory per rank, barrier, allreduce, odd/even split.
 *
 *   mpiexec -n P -nfg C scale
 *
 * Memory is the resident memory of all processes after MPI_Init and one barrier, divided by the
 * number of ranks; the part that a process of one rank has anyway is printed apart when run as
 * `-nfg 1`. Times are means over a loop of calls, the best of three loops; the split ends with a
 * barrier. */
#include <stdio.h>
#include <string.h>

#include "fgmpi.h"

static long resident_kb(void) {
  char line[200];
  long kb = 0;
  FILE* status = fopen("/proc/self/status", "r");
  if (!status) return 0;
  while (fgets(line, sizeof line, status))
    if (!strncmp(line, "VmRSS:", 6)) sscanf(line + 6, "%ld", &kb);
  fclose(status);
  return kb;
}

static void barriers(int n) {
  for (int i = 0; i < n; ++i) MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduces(int n) {
  double in = 1, out;
  for (int i = 0; i < n; ++i) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void splits(int n) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < n; ++i) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_free(&half);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void dups(int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_free(&copy);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static double seconds_each(void (*what)(int), int n) {
  double best = 1e99;
  for (int r = 0; r < 3; ++r) {
    MPI_Barrier(MPI_COMM_WORLD);
    double t = MPI_Wtime();
    what(n);
    t = (MPI_Wtime() - t) / n;
    if (t < best) best = t;
  }
  return best;
}

int main(int argc, char** argv) {
  int rank, size, processes, first;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPIX_Get_n_size(&processes);
  MPIX_Get_collocated_startrank(&first);
  MPI_Barrier(MPI_COMM_WORLD);
  long mine = rank == first ? resident_kb() : 0, kb = 0;
  MPI_Reduce(&mine, &kb, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  int n = size > 50000 ? 5 : size > 5000 ? 30 : 300;
  double barrier = seconds_each(barriers, n), allreduce = seconds_each(allreduces, n);
  double split = seconds_each(splits, size > 50000 ? 1 : 3),
         dup = seconds_each(dups, size > 50000 ? 1 : 3);
  if (rank == 0) {
    printf(
        "| ranks | processes | KiB resident a rank | barrier us (ns a rank) | allreduce 8 B us | "
        "split ms (us a rank) | dup ms (us a rank) |\n");
    printf("|---|---|---|---|---|---|---|\n");
    printf("| %d | %d | %.2f | %.1f (%.0f) | %.1f | %.2f (%.2f) | %.2f (%.2f) |\n", size, processes,
           (double)kb / size, 1e6 * barrier, 1e9 * barrier / size, 1e6 * allreduce, 1e3 * split,
           1e6 * split / size, 1e3 * dup, 1e6 * dup / size);
  }
  MPI_Finalize();
  return 0;
}
