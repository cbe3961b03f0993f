// Heat flows along a rod, which the ranks share. One step exchanges two cells in place of one, for which there is no room: the
// mistake of docs/tutorials/go-back-to-the-mistake.md.
#include <mpi.h>
#include <stdio.h>

enum { kCells = 64, kSteps = 700, kPicture = 100 };

struct Rod {
  double heat[kCells + 2];  // the first and the last one are of the neighbours
  double conductivity[kCells];
};
static struct Rod g_rod;

static void exchange(int rank, int size, int step) {
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  const int wide = step == kPicture ? 2 : 1;  // a picture is drawn, which wants one cell more
  MPI_Sendrecv(&g_rod.heat[1], wide, MPI_DOUBLE, left, 0, &g_rod.heat[kCells + 1], wide, MPI_DOUBLE,
               right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&g_rod.heat[kCells], 1, MPI_DOUBLE, right, 1, &g_rod.heat[0], 1, MPI_DOUBLE, left, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void flow(int step) {
  double next[kCells + 2];
  const int first = step < 600 ? 2 : 1;  // the end of each part warms up late
  for (int i = first; i <= kCells; ++i)
    next[i] = g_rod.heat[i] + 0.3 * g_rod.conductivity[i - 1] *
                                  (g_rod.heat[i - 1] - 2 * g_rod.heat[i] + g_rod.heat[i + 1]);
  for (int i = first; i <= kCells; ++i) g_rod.heat[i] = next[i];
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < kCells; ++i) {
    g_rod.heat[i + 1] = 100 + rank + 0.01 * i;
    g_rod.conductivity[i] = 1;
  }
  for (int step = 1; step <= kSteps; ++step) {
    exchange(rank, size, step);
    flow(step);
    if (g_rod.heat[1] < 0 || g_rod.heat[1] > 1000) {
      printf("rank %d: the first cell has %g degrees in step %d\n", rank, g_rod.heat[1], step);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  MPI_Finalize();
  return 0;
}
