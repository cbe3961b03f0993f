// A value of rank 0 is overwritten by another rank through a window of shared memory, in the middle of
// the run, and found wrong at its end.
#include <mpi.h>
#include <stdio.h>

static long* g_cells;  // 8 of each rank

static void step(int rank, int size, int i) {
  long sum = 0, mine = g_cells[8 * rank + i % 4];
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  g_cells[8 * rank + i % 4] = sum % 1000 + i;
  if (i == 700 && rank == size - 1) g_cells[6] = 13;  // the mistake: this cell is rank 0's
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long* mine;
  MPI_Win_allocate_shared(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
                          &window);
  g_cells = mine - 8 * rank;
  for (int i = 0; i < 8; ++i) mine[i] = i;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 2000; ++i) step(rank, size, i);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("cell 6 is %ld, not 6\n", mine[6]);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
