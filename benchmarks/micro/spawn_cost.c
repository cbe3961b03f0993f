/* Cost of spawning: seconds until all new ranks are in main and have been heard, and resident
 * memory of this process a rank.
 *
 *   mpiexec -n P [-nfg C] spawn_cost here|processes RANKS [ROUNDS [PROGRAM]]
 *
 * A line a round: microseconds a rank for MPI_Comm_spawn with a barrier between both sides, and for
 * the disconnection. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long resident_kib(void) {
  long pages = 0, ignored;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &ignored, &pages) != 2) pages = 0;
  if (file) fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    MPI_Barrier(parent); /* all are there */
    MPI_Barrier(parent); /* memory has been counted */
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  if (argc < 3) {
    fprintf(stderr, "usage: %s here|processes RANKS [ROUNDS [PROGRAM]]\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const int ranks = atoi(argv[2]), rounds = argc > 3 ? atoi(argv[3]) : 3;
  const char* program = argc > 4 ? argv[4] : argv[0];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "fgmpi_where", argv[1]);
  for (int k = 0; k < rounds; ++k) {
    MPI_Comm children;
    MPI_Barrier(MPI_COMM_WORLD);
    const long before = resident_kib();
    const double start = MPI_Wtime();
    MPI_Comm_spawn(program, MPI_ARGV_NULL, ranks, info, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Barrier(children);
    const double there = MPI_Wtime();
    const long after = resident_kib();
    MPI_Barrier(children);
    const double leaving = MPI_Wtime();
    MPI_Comm_disconnect(&children);
    const double gone = MPI_Wtime();
    if (rank == 0)
      printf(
          "%s %d ranks: spawn %.3f s (%.1f us a rank), disconnect %.3f s, %.1f KiB a rank here\n",
          argv[1], ranks, there - start, (there - start) * 1e6 / ranks, gone - leaving,
          (double)(after - before) / ranks);
  }
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
