/* Four ranks: rank 1 writes four of its eight MiB of global variables, one after the other; rank 2
 * goes eleven calls deep, with 64 KiB on the stack each. The others do nothing. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

static char data[8 << 20];

static void go_deep(int calls) {
  volatile char local[64 << 10];
  memset((char*)local, calls, sizeof local);
  usleep(calls > 0 ? 5000 : 300000);
  if (calls > 0) go_deep(calls - 1);
  local[0] = 1;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) {
    usleep(50000);
    if (rank == 1) memset(data + (i << 20), 1, 1 << 20);
  }
  if (rank == 2) go_deep(10);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
