/* What creating communicators costs a rank: time of split and dup, memory of kept and freed
 * duplicates.
 *
 *   mpiexec -n 2 -nfg 50000 comm_cost [what...]     what: barrier split dup loop=N keep=N dups=N
 *
 * Default: barrier split dup. split: odd/even, reversed, random keys; wall time of four in a row
 * with a closing barrier, best of five rounds, per creation and rank of the job; and the processor
 * time of process 0 per rank of it (what a creation costs beyond waking everybody is the difference
 * to a barrier's in the same run). loop=N: N duplicates made and freed one after the other; keep=N:
 * N kept: bytes of the process's resident memory a duplicate. dups=N: N duplicates of the world
 * kept, with what one costs (Nek5000 makes 24 or 86, IPDPS'17 Figure 4). */
#include <fgmpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* No variable of the program is global, so that it also runs with FGMPI_PRIVATIZE=off. */
typedef struct {
  int rank, size;
} Me;

/* Processor time of the process: less noisy than the wall where the machine is shared. */
static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double slowest(double mine) {
  double all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static double resident(void) {
  long pages = 0, all = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%ld %ld", &all, &pages) != 2) pages = 0;
  if (f) fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void report(Me me, const char* what, double seconds, double processor, MPI_Comm example) {
  MPIX_Map_info info;
  int here;
  MPI_Barrier(MPI_COMM_WORLD);
  MPIX_Comm_map_info(example, &info);
  MPIX_Get_collocated_size(&here);
  if (me.rank == 0)
    printf(
        "%-16s wall %9.3f ms, %6.3f us a rank; processor %6.3f us a rank   model %s %s, map %lld "
        "bytes, process %lld bytes\n",
        what, seconds * 1e3, seconds * 1e6 / me.size, processor * 1e6 / here, info.model,
        info.encoding, (long long)info.map_bytes, (long long)info.process_bytes);
}

enum { kRounds = 5, kEach = 4 };
/* In the place of colors: no split. */
enum { kDup = -1, kBarrier = -2 };

/* One round: kEach creations in a row, as all ranks see them (a barrier closes the round). Only the
 * first rank of a process reads clocks: reading the processor's time is a system call. */
static void measure(Me me, const char* what, int color, int key) {
  double best = 1e9, least = 1e9;
  int start;
  MPI_Comm c[kEach];
  MPIX_Get_collocated_startrank(&start);
  for (int i = 0; i < kRounds; ++i) {
    double t = 0, p = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (me.rank == start) t = MPI_Wtime(), p = cpu();
    for (int k = 0; k < kEach; ++k) {
      if (color == kBarrier)
        MPI_Barrier(MPI_COMM_WORLD);
      else if (color == kDup)
        MPI_Comm_dup(MPI_COMM_WORLD, &c[k]);
      else
        MPI_Comm_split(MPI_COMM_WORLD, color, key, &c[k]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me.rank == start) {
      t = (MPI_Wtime() - t) / kEach, p = (cpu() - p) / kEach;
      if (t < best) best = t;
      if (p < least) least = p;
    }
    if (i == kRounds - 1) report(me, what, best, least, color == kBarrier ? MPI_COMM_WORLD : c[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (color == kBarrier) continue;
    for (int k = 0; k < kEach; ++k) MPI_Comm_free(&c[k]);
  }
}

static void loop(Me me, int n, int keep) {
  MPI_Comm c, last = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &last);
  MPI_Barrier(MPI_COMM_WORLD);
  double before = resident(), t = MPI_Wtime();
  for (int i = 0; i < n; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    if (!keep) MPI_Comm_free(&c);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  t = slowest(MPI_Wtime() - t);
  double grown = resident() - before;
  if (me.rank == 0)
    printf(
        "%-16s %d duplicates: %.2f us each; the process grew by %.1f MB, %.0f bytes a duplicate\n",
        keep ? "kept" : "made and freed", n, t * 1e6 / n, grown / 1e6, grown / n);
  MPI_Comm_free(&last);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Me me;
  MPI_Comm_rank(MPI_COMM_WORLD, &me.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &me.size);
  int rank = me.rank;
  for (int i = argc > 1 ? 1 : 0; i < argc; ++i) {
    const char* what = argc > 1 ? argv[i] : "all";
    int all = strcmp(what, "all") == 0;
    if (all || strcmp(what, "barrier") == 0) measure(me, "barrier", kBarrier, 0);
    if (all || strcmp(what, "split") == 0) {
      measure(me, "split odd/even", rank % 2, rank);
      measure(me, "split reversed", 0, -rank);
      measure(me, "split into 100", rank % 100, 0);
      measure(me, "split random", 0, (int)((unsigned)rank * 2654435761u));
    }
    if (all || strcmp(what, "dup") == 0) measure(me, "dup", kDup, 0);
    if (strncmp(what, "loop=", 5) == 0) loop(me, atoi(what + 5), 0);
    if (strncmp(what, "keep=", 5) == 0 || strncmp(what, "dups=", 5) == 0)
      loop(me, atoi(what + 5), 1);
  }
  MPI_Finalize();
  return 0;
}
