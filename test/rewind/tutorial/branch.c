// Each rank improves its part until it is good enough, and then only passes on what others send. One of them stops too early,
// and long after that all wait: the mistake of docs/tutorials/go-back-to-the-mistake.md.
#include <mpi.h>
#include <stdio.h>

enum { kRounds = 200 };
static int g_done;
static double g_part = 1;

static void improve(void) {
  if (!g_done && g_part > 0.5) g_part *= 0.99;
}

static void listen(int rank, int size, int round) {
  double neighbour = g_part;
  MPI_Sendrecv(&g_part, 1, MPI_DOUBLE, (rank + 1) % size, 0, &neighbour, 1, MPI_DOUBLE,
               (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (round == 20 && rank == 4) g_part = 0;  // a part that was never filled
  if (neighbour < 0.1) g_done = 1;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < kRounds; ++round) {
    improve();
    listen(rank, size, round);
    // Every hundredth round those that are not done agree on the best part.
    if (round % 100 == 99 && !g_done) {
      double best;
      MPI_Allreduce(&g_part, &best, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    }
  }
  if (rank == 0) printf("done\n");
  MPI_Finalize();
  return 0;
}
