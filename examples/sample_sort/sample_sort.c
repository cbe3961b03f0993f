/* Sample sort: everybody proposes splitters, numbers go to the rank whose range they belong to,
 * each sorts its own.
 *
 *   mpiexec -ranks 1000 sample_sort [NUMBERS A RANK] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void* a, const void* b) {
  unsigned x = *(const unsigned*)a, y = *(const unsigned*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  int rank, size, n = argc > 1 ? atoi(argv[1]) : 1000;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  unsigned* mine = malloc(sizeof *mine * n);
  unsigned long long sum = 0;
  unsigned state = 12345u + 7919u * (unsigned)rank;
  for (int i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    sum += mine[i] = state;
  }
  qsort(mine, n, sizeof *mine, compare);

  /* One proposal a rank, of another quantile each; all of them, sorted, are the splitters. */
  unsigned proposal = mine[(long long)n * rank / size],
           *splitters = malloc(sizeof *splitters * size);
  MPI_Allgather(&proposal, 1, MPI_UNSIGNED, splitters, 1, MPI_UNSIGNED, MPI_COMM_WORLD);
  qsort(splitters, size, sizeof *splitters, compare);

  int *counts = calloc(size, sizeof(int)), *places = calloc(size, sizeof(int));
  int *from_counts = calloc(size, sizeof(int)), *from_places = calloc(size, sizeof(int));
  for (int i = 0, to = 0; i < n; ++i) {
    while (to < size - 1 && mine[i] >= splitters[to + 1]) ++to;
    ++counts[to];
  }
  MPI_Alltoall(counts, 1, MPI_INT, from_counts, 1, MPI_INT, MPI_COMM_WORLD);
  for (int p = 1; p < size; ++p) {
    places[p] = places[p - 1] + counts[p - 1];
    from_places[p] = from_places[p - 1] + from_counts[p - 1];
  }
  int got = from_places[size - 1] + from_counts[size - 1];
  unsigned* sorted = malloc(sizeof *sorted * (got + 1));
  MPI_Alltoallv(mine, counts, places, MPI_UNSIGNED, sorted, from_counts, from_places, MPI_UNSIGNED,
                MPI_COMM_WORLD);
  qsort(sorted, got, sizeof *sorted, compare);

  /* Nothing is lost, and no number is below the largest one of the ranks before. */
  unsigned largest = got ? sorted[got - 1] : 0, before = 0;
  MPI_Exscan(&largest, &before, 1, MPI_UNSIGNED, MPI_MAX, MPI_COMM_WORLD);
  int bad = rank > 0 && got > 0 && sorted[0] < before, any_bad;
  unsigned long long after = 0, sums[2], totals[2];
  for (int i = 0; i < got; ++i) after += sorted[i];
  sums[0] = sum, sums[1] = after;
  MPI_Allreduce(sums, totals, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  bad |= totals[0] != totals[1];
  MPI_Allreduce(&bad, &any_bad, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  int most;
  MPI_Reduce(&got, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d ranks sorted %lld numbers, at most %d on one: %s\n", size, (long long)n * size, most,
           any_bad ? "WRONG" : "right");
  free(mine), free(splitters), free(counts), free(places), free(from_counts), free(from_places),
      free(sorted);
  MPI_Finalize();
  return any_bad;
}
