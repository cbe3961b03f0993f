// What mpiexec -record costs: rounds of calls that are counted (MPI_) and of the same calls behind the counter (PMPI_),
// interleaved in one run. Prints the best time of each, and their ratio. With a kind, it only makes calls of it that are counted
// (rewind_whole.py).
//
//   mpiexec -record /tmp/cost.rec -ranks 1000 bin/rewind_cost [BLOCKS [ROUNDS]]
//   mpiexec -record /tmp/cost.rec -ranks 1000 bin/rewind_cost messages|collective|stencil ROUNDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kPoints = 256, kHalo = 64 };
static int g_rank, g_size;
static double g_x[kPoints], g_halo[2][kHalo], g_sums[8];

// The three loops exist twice, with and without the counter.
#define ROUNDS(name, P)                                                                       \
  static void name##_messages(int rounds) {                                                   \
    for (int i = 0; i < rounds; ++i)                                                          \
      P##MPI_Sendrecv(g_x, 1, MPI_DOUBLE, (g_rank + 1) % g_size, 0, g_halo[0], 1, MPI_DOUBLE, \
                      (g_rank + g_size - 1) % g_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  \
  }                                                                                           \
  static void name##_collective(int rounds) {                                                 \
    for (int i = 0; i < rounds; ++i)                                                          \
      P##MPI_Allreduce(g_x, g_sums, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);                  \
  }                                                                                           \
  static void name##_stencil(int rounds) {                                                    \
    const int left = (g_rank + g_size - 1) % g_size, right = (g_rank + 1) % g_size;           \
    for (int i = 0; i < rounds; ++i) {                                                        \
      MPI_Request r[4];                                                                       \
      MPI_Status s[4];                                                                        \
      P##MPI_Irecv(g_halo[0], kHalo, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, r);                 \
      P##MPI_Irecv(g_halo[1], kHalo, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, r + 1);            \
      P##MPI_Isend(g_x, kHalo, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, r + 2);                  \
      P##MPI_Isend(g_x + kHalo, kHalo, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, r + 3);           \
      P##MPI_Waitall(4, r, s);                                                                \
      for (int j = 1; j < kPoints - 1; ++j)                                                   \
        g_x[j] = (g_x[j - 1] + g_x[j + 1] + g_halo[0][j % kHalo]) * 0.3;                      \
    }                                                                                         \
  }
ROUNDS(counted, )
ROUNDS(plain, P)

// All ranks are in one process: its time on the processor says what they take, also beside other programs.
static double processor_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double time_of(void (*loop)(int), int rounds) {
  PMPI_Barrier(MPI_COMM_WORLD);
  const double start = processor_time();
  loop(rounds);
  PMPI_Barrier(MPI_COMM_WORLD);
  return processor_time() - start;
}

static void compare(const char* what, void (*counted)(int), void (*plain)(int), int blocks,
                    int rounds) {
  double best[2] = {1e9, 1e9};
  for (int i = 0; i < blocks; ++i) {
    const double a = time_of(counted, rounds), b = time_of(plain, rounds);
    if (i > 0 && a < best[0]) best[0] = a;
    if (i > 0 && b < best[1]) best[1] = b;
  }
  const double unit = 1e9 / rounds / g_size;
  if (g_rank == 0)
    printf("%-12s %8.1f ns a round and rank, %8.1f without: %.2f\n", what, best[0] * unit,
           best[1] * unit, best[0] / best[1]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  void (*const loops[])(int) = {counted_messages, counted_collective, counted_stencil};
  const char* const kinds[] = {"messages", "collective", "stencil"};
  for (int i = 0; i < 3; ++i)
    if (argc > 2 && strcmp(argv[1], kinds[i]) == 0) {
      loops[i](atoi(argv[2]));
      MPI_Finalize();
      return 0;
    }
  const int blocks = argc > 1 ? atoi(argv[1]) : 20, rounds = argc > 2 ? atoi(argv[2]) : 50;
  compare("messages", counted_messages, plain_messages, blocks, rounds);
  compare("collective", counted_collective, plain_collective, blocks, rounds);
  compare("stencil", counted_stencil, plain_stencil, blocks, rounds);
  MPI_Finalize();
  return 0;
}
