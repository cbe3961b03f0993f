/* Windows of 1 KiB a rank over up to 100,000 ranks: every way to their memory, atomics of all at
 * one word, a fence and locks. */
#include <mpi.h>

#include "mpitest.h"

int main(int argc, char** argv) {
  int rank, size;
  MPI_Win win;
  long *memory, old;
  enum { kWords = 128 };
  const long one = 1;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Win_allocate(kWords * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                      &win));
  const int right = (rank + 1) % size, across = (rank + size / 2) % size;
  const long mine = 1000L + rank;
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put(&mine, 1, MPI_LONG, right, 1, 1, MPI_LONG, win));
  OK(MPI_Put(&mine, 1, MPI_LONG, across, 2, 1, MPI_LONG, win));
  OK(MPI_Put(&mine, 1, MPI_LONG, right, kWords - 1, 1, MPI_LONG, win));
  OK(MPI_Win_fence(0, win));
  CHECK(memory[kWords - 1] == memory[1]);
  CHECK(memory[1] == 1000L + (rank + size - 1) % size);
  CHECK(memory[2] == 1000L + (rank + size - size / 2) % size);
  OK(MPI_Win_lock_all(0, win));
  OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win));
  OK(MPI_Win_unlock_all(win));
  CHECK(old >= 0 && old < size);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, across, 0, win));
  OK(MPI_Get(&old, 1, MPI_LONG, across, 1, 1, MPI_LONG, win));
  OK(MPI_Win_unlock(across, win));
  CHECK(old == 1000L + (across + size - 1) % size);
  if (rank == 0) CHECK(memory[0] == size);
  OK(MPI_Win_free(&win));
  return finish();
}
