/* What a rank of a process costs, its image aside: memory of its own, page tables, address space,
 * processor time.
 *
 *   for n in 100 4096 50000 500000; do mpiexec -n 1 -nfg $n rank_cost; done
 *
 * All ranks pass MPI_Init and a barrier. What the process has then is divided by its ranks;
 * processor time is since the process began. Page tables hold the stacks' mostly: a larger stack
 * (FGMPI_STACK_SIZE) needs more of them. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fgmpi.h"

/* A line of /proc/self/status, in KiB. */
static long kib(const char* name) {
  char line[200];
  long value = 0;
  FILE* status = fopen("/proc/self/status", "r");
  if (!status) return 0;
  while (fgets(line, sizeof line, status))
    if (!strncmp(line, name, strlen(name))) sscanf(line + strlen(name), "%ld", &value);
  fclose(status);
  return value;
}

int main(int argc, char** argv) {
  int rank, here, first;
  struct timespec used;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPIX_Get_collocated_size(&here);
  MPIX_Get_collocated_startrank(&first);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == first) {
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    double seconds = (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
    printf(
        "%d ranks: anonymous %.2f KiB, page tables %.2f KiB, address space %.0f KiB, %.2f us "
        "each\n",
        here, (double)kib("RssAnon:") / here, (double)kib("VmPTE:") / here,
        (double)kib("VmSize:") / here, seconds / here * 1e6);
  }
  MPI_Barrier(MPI_COMM_WORLD); /* the others keep their stacks until then */
  MPI_Finalize();
  return 0;
}
