/* What a barrier and an odd/even split cost a rank in one process, whatever the machine does beside:
 * processor time of the process, the least of many rounds.
 *
 *   group_cost [ROUNDS [BARRIERS]]      B -n 1 -nfg RANKS benchmarks/group_cost 30 20
 *
 * A round is BARRIERS barriers, or one split with a barrier behind it, whose time is taken off. The
 * program has no globals, so that ranks share its image. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double processor_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void barriers(int times) {
  for (int i = 0; i < times; i++) MPI_Barrier(MPI_COMM_WORLD);
}

/* The least time of a round, at rank 0. */
static double least_barriers(int rank, int rounds, int times) {
  double least = 1e30, start = 0;
  barriers(2);
  for (int i = 0; i < rounds; i++) {
    if (rank == 0) start = processor_time();
    barriers(times);
    if (rank == 0 && processor_time() - start < least) least = processor_time() - start;
  }
  return least / times;
}

static double least_split(int rank, int rounds) {
  double least = 1e30, start = 0;
  for (int i = 0; i < rounds; i++) {
    MPI_Comm half;
    barriers(2);
    if (rank == 0) start = processor_time();
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    barriers(1);
    if (rank == 0 && processor_time() - start < least) least = processor_time() - start;
    MPI_Comm_free(&half);
  }
  return least;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 30, times = argc > 2 ? atoi(argv[2]) : 20;
  if (rounds < 1 || times < 1) {
    if (rank == 0) fprintf(stderr, "usage: group_cost [ROUNDS [BARRIERS]]\n");
    MPI_Finalize();
    return 2;
  }
  const double barrier = least_barriers(rank, rounds, times);
  const double split = least_split(rank, rounds) - barrier;
  if (rank == 0)
    printf("%d ranks: barrier %.1f ns a rank, split %.2f ms (%.0f ns a rank)\n", size,
           1e9 * barrier / size, 1e3 * split, 1e9 * split / size);
  MPI_Finalize();
  return 0;
}
