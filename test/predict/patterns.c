/* Patterns of messages between nodes, for topologies whose times have closed forms.
 *   patterns BYTES PATTERN...
 * A pattern is all (everybody to everybody), or a distance d: rank r sends to r + d, around the end. Rank 0 prints "PATTERN NANOSECONDS"
 * for each: from the same time of all until the last one has all its messages. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size, bytes;

static void align(void) {
  double mine = MPI_Wtime() * 1e9, latest;
  MPI_Allreduce(&mine, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const double wait = latest + 1e6 - MPI_Wtime() * 1e9;
  const struct timespec t = {0, (long)(wait + 0.5)};
  nanosleep(&t, NULL);
}

static double exchange(const char* pattern, char* in, const char* out) {
  MPI_Request* requests = malloc(sizeof(MPI_Request) * 2 * (size_t)size);
  int n = 0;
  const int all = strcmp(pattern, "all") == 0, distance = all ? 1 : atoi(pattern);
  align();
  const double begun = MPI_Wtime() * 1e9;
  for (int d = distance; d < (all ? size : distance + 1); ++d)
    MPI_Irecv(in + (size_t)(d - distance) * (size_t)bytes, bytes, MPI_CHAR,
              (rank + size - d) % size, 0, MPI_COMM_WORLD, &requests[n++]);
  for (int d = distance; d < (all ? size : distance + 1); ++d)
    MPI_Isend(out, bytes, MPI_CHAR, (rank + d) % size, 0, MPI_COMM_WORLD, &requests[n++]);
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  const double passed = MPI_Wtime() * 1e9 - begun;
  free(requests);
  return passed;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bytes = atoi(argv[1]);
  char *in = malloc((size_t)bytes * (size_t)size), *out = calloc((size_t)bytes, 1);
  for (int i = 2; i < argc; ++i) {
    double passed = exchange(argv[i], in, out), longest;
    MPI_Reduce(&passed, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%s %.0f\n", argv[i], longest);
  }
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
