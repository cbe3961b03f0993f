/* Broadcasts and scatters between hosts, for figures 3 to 7 of Yuan, Daniels, Faraj, Karwande,
 * "Group Management Schemes for Implementing MPI Collective Communication over IP-Multicast".
 * Started by multicast_figures.sh; only uses mpi.h, so that it also runs on other MPI libraries.
 *   multicast_figures bcast|scatter|five|opened [LEAST MOST [REPETITIONS]]      bytes of a message
 *   multicast_figures row|barrier [...]                a hundred broadcasts in a row, and with a
 *     barrier after each: of one
 *   multicast_figures allgather|alltoall|allreduce|reduce_scatter [...]         of a rank's part; a
 *     vector, of allreduce
 *   multicast_figures message|datagrams [...]          table I: one way of a ping-pong of ranks 0
 *                                                      and 1, by messages, and by broadcasts (of
 *                                                      two ranks, forced by multicast: over its
 *                                                      reliable UDP)
 * five: rank 0 scatters to ranks 1 to 5 (MPI_Scatterv with zeros); opened: the same by an opened
 * group, which in multicast_figures_hoisted (mpicc -fgmpi-hoist) the compiler makes of five.
 * A line a size: WHAT BYTES AVERAGE MAXIMUM: microseconds from the begin to the end of the call,
 * the average over ranks, and the slowest rank; medians over the repetitions. All ranks sleep until
 * the same moment by the machine's clock, which namespaces share, and begin then: links are empty,
 * and no rank has begun earlier than another one. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma weak MPIX_Scatterv_open_group
#pragma weak MPIX_Scatterv_data_movement
#pragma weak MPIX_Scatterv_close_group
int MPIX_Scatterv_open_group(const void*, const int*, const int*, MPI_Datatype, void*, int,
                             MPI_Datatype, int, MPI_Comm);
int MPIX_Scatterv_data_movement(const void*, const int*, const int*, MPI_Datatype, void*, int,
                                MPI_Datatype, int, MPI_Comm);
int MPIX_Scatterv_close_group(const void*, const int*, const int*, MPI_Datatype, void*, int,
                              MPI_Datatype, int, MPI_Comm);

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static int rank, size;
static int *counts, *displs;

static double *averages, *slowest, started;

static double now(void) { /* seconds */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void sleep_until(double moment) {
  const struct timespec until = {(time_t)moment, (long)((moment - (double)(time_t)moment) * 1e9)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Ranks of this machine begin together: 4 ms and 0.25 a rank after the first of them has said
 * when. */
static void begin(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  started = now() + 0.004 + 0.00025 * size;
  MPI_Bcast(&started, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  sleep_until(started);
}
/* Round 0 is not counted: what is agreed on once is agreed on in it. Who is through sleeps before
 * it says how long it took: the hosts of one machine share its processors, and the others are not
 * through yet. */
static void end(int round) {
  const double ended = now();
  double took = (ended - started) * 1e6, sum, most;
  sleep_until(ended + 0.002 + (ended - started));
  MPI_Reduce(&took, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (round == 0 || rank != 0) return;
  averages[round - 1] = sum / size;
  slowest[round - 1] = most;
}

/* One way between two ranks: half of a ping-pong, the mean of ten. */
static void ping_pong(int by_broadcast, char* all, int bytes, int repetitions) {
  enum { kTimes = 10 };
  for (int i = 0; i <= repetitions; ++i) {
    begin();
    for (int k = 0; k < 2 * kTimes; ++k) {
      if (by_broadcast)
        MPI_Bcast(all, bytes, MPI_BYTE, k % 2, MPI_COMM_WORLD);
      else if (rank == k % 2)
        MPI_Send(all, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
      else
        MPI_Recv(all, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    started += (now() - started) * (1 - 1.0 / (2 * kTimes));
    end(i);
  }
}

/* Of a broadcast among many: in a row, or with a barrier after each. */
static void in_a_row(int with_barrier, char* all, int bytes, int repetitions) {
  enum { kTimes = 100 };
  for (int i = 0; i <= repetitions; ++i) {
    begin();
    for (int k = 0; k < kTimes; ++k) {
      MPI_Bcast(all, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
      if (with_barrier) MPI_Barrier(MPI_COMM_WORLD);
    }
    started += (now() - started) * (1 - 1.0 / kTimes);
    end(i);
  }
}

/* Collectives that have no figure. */
static void others(const char* what, char* all, char* mine, char* got, int bytes, int repetitions) {
  const int ints = bytes / (int)sizeof(int);
  for (int i = 0; i <= repetitions; ++i) {
    begin();
    if (strcmp(what, "allgather") == 0)
      MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
    else if (strcmp(what, "alltoall") == 0)
      MPI_Alltoall(all, bytes, MPI_BYTE, got, bytes, MPI_BYTE, MPI_COMM_WORLD);
    else if (strcmp(what, "allreduce") == 0)
      MPI_Allreduce(mine, got, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else
      MPI_Reduce_scatter_block(all, mine, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    end(i);
  }
}

/* The loop of the paper's figure 1, plain and with the group opened around it. */
static void rounds(const char* what, char* all, char* mine, int bytes, int repetitions) {
  const int five = rank >= 1 && rank <= 5 ? bytes : 0;
  if (strcmp(what, "bcast") == 0) {
    for (int i = 0; i <= repetitions; ++i) {
      begin();
      MPI_Bcast(all, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
      end(i);
    }
  } else if (strcmp(what, "scatter") == 0) {
    for (int i = 0; i <= repetitions; ++i) {
      begin();
      MPI_Scatter(all, bytes, MPI_BYTE, mine, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
      end(i);
    }
  } else if (strcmp(what, "five") == 0) {
    for (int i = 0; i <= repetitions; ++i) {
      begin();
      MPI_Scatterv(all, counts, displs, MPI_BYTE, mine, five, MPI_BYTE, 0, MPI_COMM_WORLD);
      end(i);
    }
  } else {
    MPIX_Scatterv_open_group(all, counts, displs, MPI_BYTE, mine, five, MPI_BYTE, 0,
                             MPI_COMM_WORLD);
    for (int i = 0; i <= repetitions; ++i) {
      begin();
      MPIX_Scatterv_data_movement(all, counts, displs, MPI_BYTE, mine, five, MPI_BYTE, 0,
                                  MPI_COMM_WORLD);
      end(i);
    }
    MPIX_Scatterv_close_group(all, counts, displs, MPI_BYTE, mine, five, MPI_BYTE, 0,
                              MPI_COMM_WORLD);
  }
}

static void measure(const char* what, int bytes, int repetitions) {
  char *all = calloc((size_t)size, (size_t)bytes), *mine = calloc(1, (size_t)bytes);
  char* got = calloc((size_t)size, (size_t)bytes);
  averages = calloc((size_t)repetitions, sizeof(double));
  slowest = calloc((size_t)repetitions, sizeof(double));
  for (int r = 0; r < size; ++r) {
    counts[r] = r >= 1 && r <= 5 ? bytes : 0;
    displs[r] = r * bytes;
  }
  if (strcmp(what, "message") == 0 || strcmp(what, "datagrams") == 0)
    ping_pong(what[0] == 'd', all, bytes, repetitions);
  else if (strcmp(what, "row") == 0 || strcmp(what, "barrier") == 0)
    in_a_row(what[0] == 'b', all, bytes, repetitions);
  else if (strncmp(what, "all", 3) == 0 || strcmp(what, "reduce_scatter") == 0)
    others(what, all, mine, got, bytes, repetitions);
  else
    rounds(what, all, mine, bytes, repetitions);
  qsort(averages, (size_t)repetitions, sizeof(double), by_value);
  qsort(slowest, (size_t)repetitions, sizeof(double), by_value);
  if (rank == 0) {
    printf("%s %d %.0f %.0f\n", what, bytes, averages[repetitions / 2], slowest[repetitions / 2]);
    fflush(stdout); /* some libraries hang in MPI_Finalize */
  }
  free(all);
  free(mine);
  free(got);
  free(averages);
  free(slowest);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* what = argc > 1 ? argv[1] : "bcast";
  const int least = argc > 2 ? atoi(argv[2]) : 1, most = argc > 3 ? atoi(argv[3]) : 1 << 20;
  const int repetitions = argc > 4 ? atoi(argv[4]) : 15;
  const int two_alone = strcmp(what, "message") == 0 || strcmp(what, "datagrams") == 0;
  if ((strcmp(what, "opened") == 0 && !MPIX_Scatterv_open_group) || (two_alone && size != 2) ||
      least < 1 || repetitions < 1) {
    if (rank == 0)
      fprintf(stderr, "multicast_figures: not with this library, these ranks or these numbers\n");
    MPI_Finalize();
    return 2;
  }
  counts = malloc(sizeof(int) * (size_t)size);
  displs = malloc(sizeof(int) * (size_t)size);
  for (int bytes = least; bytes <= most; bytes *= 4) measure(what, bytes, repetitions);
  MPI_Finalize();
  return 0;
}
