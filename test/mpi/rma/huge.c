/* Windows of 6 GiB a rank, of which a few pages are touched: sizes and displacements beyond 32 bits
 * by every way, a datatype that strides over gigabytes. What is not touched must cost no memory. */
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include "usage.h"

static const MPI_Aint kBytes = 6LL << 30, kFar = (6LL << 30) - 4096;
static int rank, size;

static void use(MPI_Win win, char* memory) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  long mine[3] = {rank + 1, rank + 2, rank + 3}, old, seen[3] = {0, 0, 0};
  const long one = 1;
  MPI_Datatype far;
  OK(MPI_Type_create_hvector(3, 1, 2LL << 30, MPI_LONG, &far));
  OK(MPI_Type_commit(&far));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock_all(0, win));
  OK(MPI_Put(mine, 1, MPI_LONG, right, kFar, 1, MPI_LONG, win));
  OK(MPI_Put(mine, 3, MPI_LONG, right, 64, 1, far, win));
  OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 3LL << 30, MPI_SUM, win));
  OK(MPI_Win_flush_all(win));
  CHECK(old >= 0 && old < size);
  OK(MPI_Get(seen, 3, MPI_LONG, right, 64, 1, far, win));
  OK(MPI_Win_flush_all(win));
  for (int i = 0; i < 3; ++i) CHECK(seen[i] == mine[i]);
  OK(MPI_Put(mine, 1, MPI_LONG, right, kBytes - 8, 1, MPI_LONG, win));
  CHECK(MPI_Put(mine, 1, MPI_LONG, right, kBytes - 7, 1, MPI_LONG, win) != MPI_SUCCESS);
  CHECK(MPI_Put(mine, 3, MPI_LONG, right, 2LL << 30, 1, far, win) != MPI_SUCCESS);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(*(long*)(memory + kFar) == left + 1);
  CHECK(*(long*)(memory + kBytes - 8) == left + 1);
  for (int i = 0; i < 3; ++i) CHECK(*(long*)(memory + 64 + i * (2LL << 30)) == left + 1 + i);
  if (rank == 0) CHECK(*(long*)(memory + (3LL << 30)) == size);
  OK(MPI_Type_free(&far));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const int over_network = argc > 1 || getenv("FGMPI_TRANSPORT");
  const long before = resident_kib();
  for (int kind = 0; kind < 3; ++kind) {
    MPI_Win win;
    char* memory = NULL;
    if (kind == 0) {
      OK(MPI_Win_allocate(kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    } else if (kind == 1) {
      memory = mmap(NULL, kBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      CHECK(memory != MAP_FAILED);
      OK(MPI_Win_create(memory, kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    } else {
      if (over_network) break; /* no shared memory */
      OK(MPI_Win_allocate_shared(kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    }
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    use(win, memory);
    OK(MPI_Win_free(&win));
    if (kind == 1) munmap(memory, kBytes);
  }
  /* Ten pages a rank and kind would be 120 KiB. */
  CHECK(resident_kib() - before < 64L << 10);
  return finish();
}
