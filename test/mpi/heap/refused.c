/* What a rank asks for in vain: more than its limit, memory beside the end of its slot. For limits.sh. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "much") && rank == 1)
    for (int i = 0; i < 100000; ++i) memset(malloc(10000), 1, 10000);
  if (!strcmp(
          what,
          "beyond")) { /* equal blocks of ranks 0 and 1 are as far from each other as their slots */
    unsigned long first = (unsigned long)malloc(10), other;
    if (rank == 0) MPI_Send(&first, 1, MPI_UNSIGNED_LONG, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) {
      MPI_Recv(&other, 1, MPI_UNSIGNED_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      *(volatile char*)((1UL << 44) + 2 * (first - other)) = 1;
    }
  }
  if (!strcmp(what, "huge") && malloc((size_t)1 << 40)) return 5;
  if (!strcmp(what, "wait")) {
    memset(malloc((size_t)(rank + 1) << 20), 1, (size_t)(rank + 1) << 20);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) puts("ready"), fflush(stdout), sleep(20);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
