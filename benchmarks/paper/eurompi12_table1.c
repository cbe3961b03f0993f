/* Table 1 of the EuroMPI 2012 paper on system-ranked groups: time to split into c colors, c = 1, 2,
 * 4, ... 1,024: MPI_Comm_split and MPIX_SYSTEM_RANKED (the environment chooses the algorithm), with
 * the frames that the processes sent for one and the bytes in them, beside the 56 of each frame's
 * header. The counts are exact: each process takes the difference of its own counters while nothing
 * else is on its way.
 *
 *   eurompi12_table1 [PERCENT [REPEATS [MOST COLORS]]]      PERCENT of the ranks take part (100),
 *     REPEATS (20)
 *
 * Times are the median over repeats of the slowest rank's, creation alone, beside those of a
 * barrier on the result of either (color 0, 100 in a row). Compiled with another MPI's wrapper it
 * times that one's MPI_Comm_split. There is no global variable, so that FGMPI_PRIVATIZE=off lets a
 * process host any number of ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#if __has_include(<fgmpi.h>)
#include <fgmpi.h>
#define SYSTEM_RANKED 1
#else
#define SYSTEM_RANKED 0
#endif

static int by_value(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static int color_of(int rank, int colors, int percent) {
  unsigned x = (unsigned)rank * 2654435761u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  if ((int)(x % 100) >= percent) return MPI_UNDEFINED;
  return (int)((x / 100) % (unsigned)colors);
}

static void make(int system_ranked, int color, MPI_Comm* comm) {
#if SYSTEM_RANKED
  if (system_ranked) {
    MPIX_Comm_split(MPI_COMM_WORLD, color, MPIX_SYSTEM_RANKED, comm);
    return;
  }
#endif
  (void)system_ranked;
  MPI_Comm_split(MPI_COMM_WORLD, color, 0, comm);
}

struct traffic {
  long long frames, bytes;
};

/* What this process has sent so far: asked by its first rank. Another rank may be ahead of it in
 * the program, but nothing is sent before all ranks of the process are there. */
static struct traffic sent_so_far(int rank) {
  struct traffic t = {0, 0};
#if SYSTEM_RANKED
  MPIX_Stats_values stats;
  int first;
  MPIX_Get_collocated_startrank(&first);
  if (first != rank) return t;
  MPIX_Stats(&stats);
  t.frames = stats.frames;
  t.bytes = stats.frame_bytes;
#else
  (void)rank;
#endif
  return t;
}

/* Until messages that nobody waits for have been answered: of communicators freed, and of
 * intermediaries. */
static void settle(void) {
#if SYSTEM_RANKED
  MPIX_Usleep(30000);
#endif
}

struct result {
  double create_us, barrier_us;
  struct traffic traffic;
};

static struct result measure(int rank, int system_ranked, int colors, int percent, int repeats) {
  struct result r;
  double* times = malloc(sizeof(double) * (size_t)repeats);
  int color = color_of(rank, colors, percent);
  MPI_Comm comm;
  MPI_Barrier(MPI_COMM_WORLD);
  settle();
  struct traffic before = sent_so_far(rank);
  make(system_ranked, color, &comm);
  settle();
  struct traffic after = sent_so_far(rank);
  long long sent[2] = {after.frames - before.frames, after.bytes - before.bytes}, all[2];
  MPI_Allreduce(sent, all, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  r.traffic.frames = all[0];
  r.traffic.bytes = all[1];
  double barrier = 0;
  if (color == 0) {
    MPI_Barrier(comm);
    double begin = MPI_Wtime();
    for (int i = 0; i < 100; ++i) MPI_Barrier(comm);
    barrier = (MPI_Wtime() - begin) / 100;
  }
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  MPI_Allreduce(&barrier, &r.barrier_us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < repeats; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    make(system_ranked, color, &comm);
    double took = MPI_Wtime() - begin;
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    MPI_Allreduce(&took, &times[i], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  qsort(times, (size_t)repeats, sizeof *times, by_value);
  r.create_us = times[repeats / 2] * 1e6;
  r.barrier_us *= 1e6;
  free(times);
  return r;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int percent = argc > 1 ? atoi(argv[1]) : 100;
  int repeats = argc > 2 ? atoi(argv[2]) : 20;
  int most = argc > 3 ? atoi(argv[3]) : 1024;
  if (rank == 0) {
    printf("%d ranks, %d %% take part\n", size, percent);
    printf("%7s %13s %13s %6s %9s %9s %11s %11s %11s %11s\n", "colors", "split_us", "system_us",
           "ratio", "frames", "frames", "bytes", "bytes", "barrier_us", "barrier_us");
  }
  for (int colors = 1; colors <= most && colors <= size; colors *= 2) {
    struct result a = measure(rank, 0, colors, percent, repeats);
    struct result b = {0};
    if (SYSTEM_RANKED) b = measure(rank, 1, colors, percent, repeats);
    if (rank == 0) {
      printf("%7d %13.1f %13.1f %6.2f %9lld %9lld %11lld %11lld %11.2f %11.2f\n", colors,
             a.create_us, b.create_us, b.create_us / a.create_us, a.traffic.frames,
             b.traffic.frames, a.traffic.bytes, b.traffic.bytes, a.barrier_us, b.barrier_us);
      fflush(stdout);
    }
  }
  MPI_Finalize();
  return 0;
}
