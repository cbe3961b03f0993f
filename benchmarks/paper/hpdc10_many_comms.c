/* HPDC'10 section 8.2: how many communicators there can be.
 *
 *   mpiexec -n P -nfg C hpdc10_many_comms [IDS]      default 4100
 *
 * Splits the world into communicators of a hundredth of its size (the paper: 100,000 ranks into 100
 * of 1,000) and keeps them, until each process has IDS context ids; prints what one costs. The
 * paper stopped at 4,100 because MPICH2's pool of communicators was used up; here memory is the
 * limit. Every tenth communicator is checked by an allreduce. */
#include <fgmpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static double resident(void) {
  long all = 0, pages = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%ld %ld", &all, &pages) != 2) pages = 0;
  if (f) fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

int main(int argc, char** argv) {
  int rank, size, here;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPIX_Get_collocated_size(&here);
  int ids = argc > 1 ? atoi(argv[1]) : 4100, colors = size < 100 ? size : 100,
      rounds = (ids + colors - 1) / colors;
  MPI_Comm* kept = malloc(sizeof(MPI_Comm) * (size_t)rounds);
  MPI_Barrier(MPI_COMM_WORLD);
  double before = resident(), t = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    MPI_Comm_split(MPI_COMM_WORLD, rank % colors, i % 2 ? -rank : rank, &kept[i]);
    if (i % 10 == 0) {
      long one = 1, sum;
      int n;
      MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, kept[i]);
      MPI_Comm_size(kept[i], &n);
      if (sum != n) MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  t = MPI_Wtime() - t;
  double grown = resident() - before, made = (double)rounds * (here < colors ? here : colors);
  if (rank == 0)
    printf(
        "%d splits of %d ranks into %d: %.0f context ids in a process, %.2f ms a split, %.1f MB, "
        "%.0f bytes an id of which "
        "%.0f are members' parts\n",
        rounds, size, colors, made, t * 1e3 / rounds, grown / 1e6, grown / made,
        64.0 * here * rounds / made);
  for (int i = 0; i < rounds; ++i) MPI_Comm_free(&kept[i]);
  free(kept);
  MPI_Finalize();
  return 0;
}
