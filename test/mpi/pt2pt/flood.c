/* A producer far ahead of a slow consumer: memory stays bounded. FLOOD: number of 1 KB messages. */
#include <string.h>
#include <unistd.h>

#include "usage.h"

int main(int argc, char** argv) {
  static char b[1024];
  int rank, size;
  long messages = getenv("FLOOD") ? atol(getenv("FLOOD")) : 300000;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  long before = resident_kib();
  int to = size - 1;
  if (rank == 0 && size > 1) {
    for (long i = 0; i < messages; i++) {
      memcpy(b, &i, sizeof i);
      OK(MPI_Send(b, sizeof b, MPI_BYTE, to, 0, MPI_COMM_WORLD));
    }
  } else if (rank == to && size > 1) {
    int flag;
    for (long i = 0; i < messages; i++) {
      long n;
      if (i % 1000 == 0) /* slow: lets the producer run ahead */
        for (int k = 0; k < 50; k++) OK(MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
      OK(MPI_Recv(b, sizeof b, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      memcpy(&n, b, sizeof n);
      CHECK(n == i);
    }
    CHECK(resident_kib() - before < 100 * 1024);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(resident_kib() - before < 100 * 1024);
  return finish();
}
