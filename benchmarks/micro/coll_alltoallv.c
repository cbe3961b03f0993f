/* All-to-all of uneven parts and large volume: its time, and the memory that the library takes for
 * it beyond the user's buffers.
 *
 *   mpiexec -n 2 -nfg 8 coll_alltoallv [MiB a rank]      the default is 64
 *
 * Rank r sends rank s (r + s) % 5 shares, so that some parts are empty and others long. The peak is
 * the process's high-water mark (VmHWM) after the call less its resident memory before it; with
 * FGMPI_COLL_ROUND (32m) it stays near twice that, whatever the volume. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long status_kib(const char* field) {
  char line[256];
  long value = 0;
  FILE* f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (strncmp(line, field, strlen(field)) == 0) value = atol(line + strlen(field));
  if (f) fclose(f);
  return value;
}

static void forget_peak(void) {
  FILE* f = fopen("/proc/self/clear_refs", "w");
  if (!f) return;
  fputs("5", f);
  fclose(f);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double bytes = (argc > 1 ? atof(argv[1]) : 64) * (1 << 20);
  int share = (int)(bytes / 2 / size / 4); /* ints; two shares a part on average */
  int *counts = malloc(sizeof(int) * (size_t)size), *displs = malloc(sizeof(int) * (size_t)size);
  int total = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = (rank + r) % 5 * share;
    displs[r] = total;
    total += counts[r];
  }
  size_t room = sizeof(int) * ((size_t)total + 1);
  int *out = malloc(room), *in = malloc(room);
  memset(in, 0xff, room);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < counts[r]; ++i) out[displs[r] + i] = rank * 1000 + r;
  MPI_Barrier(MPI_COMM_WORLD);
  long before = status_kib("VmRSS:");
  forget_peak();
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  MPI_Alltoallv(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD);
  double t = MPI_Wtime() - start;
  long more = status_kib("VmHWM:") - before, most;
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < counts[r]; ++i)
      if (in[displs[r] + i] != r * 1000 + rank) {
        fprintf(stderr, "rank %d: element %d from rank %d is wrong\n", rank, i, r);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
  MPI_Reduce(&more, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  double mine = total * 4.0, all;
  MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d ranks, %.0f MiB in all: %.1f ms, peak %.1f MiB a process beyond what it had\n", size,
           all / (1 << 20), t * 1e3, (double)most / 1024);
  MPI_Finalize();
  return 0;
}
