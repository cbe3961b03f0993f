// Ranks count words in a table of shared memory, each in a row of its own. One rank takes the row of another: the mistake of
// docs/tutorials/go-back-to-the-mistake.md.
#include <mpi.h>
#include <stdio.h>

enum { kColumns = 16, kRounds = 3000 };
static int (*g_table)[kColumns];

static int row_for(int rank, int size, int word) {
  // Words of the second half are counted in the row behind, so that rows fill evenly.
  return word == 1999 ? (rank + 1) % size : rank;
}

static void count(int rank, int size, int word) {
  int* const row = g_table[row_for(rank, size, word)];
  ++row[word % kColumns];
}

int main(int argc, char** argv) {
  int rank, size, *mine, unit;
  MPI_Aint bytes;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate_shared(sizeof *g_table, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, &g_table);
  for (int i = 0; i < kColumns; ++i) mine[i] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < kRounds; ++round) {
    if (rank == 2 || round % 16 != 15) count(rank, size, round);
    if (round % 10 == 0) MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kColumns; ++i)
    if (rank != 2 && mine[15] != 0) {
      printf("rank %d: word 15 was counted %d times, and never came\n", rank, mine[15]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
