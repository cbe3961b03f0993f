/* FGMPI_HEAP=rank: the memory of a rank that has ended goes back to the system, though the rank has freed nothing. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long resident_kib(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%*d %ld", &pages) != 1) exit(2);
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char** argv) {
  enum { kBytes = 4 << 20 };
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long before = resident_kib();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank > 0) {
    memset(malloc(kBytes / 2), 1, kBytes / 2);
    for (int i = 0; i < kBytes / 2 / 1024; ++i) memset(malloc(1000), 1, 1000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const long all = resident_kib();
  MPI_Barrier(MPI_COMM_WORLD); /* nobody ends before */
  MPI_Finalize();
  if (rank > 0) return 0;
  const long others = (long)(size - 1) * (kBytes / 1024);
  if (all - before < others * 9 / 10) return 3;
  for (int tries = 0; tries < 1000; ++tries) {
    usleep(10000); /* lets others run to their ends */
    if (resident_kib() - before < others / 10) return 0;
  }
  fprintf(stderr, "%ld KiB before, %ld with all ranks, %ld in the end\n", before, all,
          resident_kib());
  return 4;
}
