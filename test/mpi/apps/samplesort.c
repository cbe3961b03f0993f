/* Sample sort: local sort, gathered samples, broadcast splitters, all-to-all exchange; the result
 * is sorted across ranks and a permutation of the input. */
#include "mpitest.h"

enum { kPerRank = 500 };

static int compare(const void* a, const void* b) {
  unsigned x = *(const unsigned*)a, y = *(const unsigned*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  int n = kPerRank + rank % 7;
  unsigned* data = malloc(n * sizeof *data);
  unsigned state = 12345u + 977u * (unsigned)rank;
  unsigned long sum = 0;
  for (int i = 0; i < n; ++i)
    state = state * 1664525u + 1013904223u, data[i] = state >> 4, sum += data[i];
  qsort(data, n, sizeof *data, compare);
  unsigned* samples = malloc((size_t)size * sizeof *samples);
  unsigned* all = rank == 0 ? malloc((size_t)size * size * sizeof *all) : NULL;
  for (int i = 0; i < size; ++i) samples[i] = data[(long)i * n / size];
  OK(MPI_Gather(samples, size, MPI_UNSIGNED, all, size, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
  if (rank == 0) {
    qsort(all, (size_t)size * size, sizeof *all, compare);
    for (int i = 0; i < size; ++i) samples[i] = all[(size_t)i * size];
  }
  OK(MPI_Bcast(samples, size, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
  int* counts = calloc(4 * (size_t)size, sizeof(int));
  int *displs = counts + size, *rcounts = displs + size, *rdispls = rcounts + size;
  for (int i = 0, b = 0; i < n; ++i) {
    while (b + 1 < size && data[i] >= samples[b + 1]) ++b;
    ++counts[b];
  }
  OK(MPI_Alltoall(counts, 1, MPI_INT, rcounts, 1, MPI_INT, MPI_COMM_WORLD));
  int total = 0;
  for (int i = 0; i < size; ++i) {
    displs[i] = i ? displs[i - 1] + counts[i - 1] : 0;
    rdispls[i] = i ? rdispls[i - 1] + rcounts[i - 1] : 0;
    total += rcounts[i];
  }
  unsigned* sorted = malloc((total + 1) * sizeof *sorted);
  OK(MPI_Alltoallv(data, counts, displs, MPI_UNSIGNED, sorted, rcounts, rdispls, MPI_UNSIGNED,
                   MPI_COMM_WORLD));
  qsort(sorted, total, sizeof *sorted, compare);
  unsigned long mine = 0, before, after;
  for (int i = 0; i < total; ++i) mine += sorted[i];
  OK(MPI_Reduce(&sum, &before, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
  OK(MPI_Reduce(&mine, &after, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
  if (rank == 0) CHECK(before == after);
  long count = total, counted;
  OK(MPI_Allreduce(&count, &counted, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  long expected = 0;
  for (int i = 0; i < size; ++i) expected += kPerRank + i % 7;
  CHECK(counted == expected);
  /* The largest value of all ranks before me is at most my smallest. */
  unsigned largest = total ? sorted[total - 1] : 0, previous = 0;
  OK(MPI_Exscan(&largest, &previous, 1, MPI_UNSIGNED, MPI_MAX, MPI_COMM_WORLD));
  if (rank > 0 && total) CHECK(previous <= sorted[0]);
  free(data), free(samples), free(all), free(counts), free(sorted);
  return finish();
}
