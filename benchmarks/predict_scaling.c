/* Programs whose whole problem is the same with any number of ranks, for strong scaling.
 *
 *   predict_scaling PROGRAM [STEPS]
 *
 * Rank 0 prints the seconds from a barrier to the end of the last rank, for how long of them the
 * rank that did so the longest was ready and had no core, the most processor time that a rank took,
 * and what known work takes now. Each program checks its result. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "predict_start.h"

static int rank, size, wrong;

/* The first of n things that are this rank's, or the next one's. */
static int first_of(int n, int r) { return (int)((long long)n * r / size); }

/* Swaps a row with each neighbour: `rows` rows of n numbers with a further one at each end. */
static void swap_rows(double* a, int rows, int n) {
  const int up = rank ? rank - 1 : MPI_PROC_NULL, down = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(a + n, n, MPI_DOUBLE, up, 0, a + (rows + 1) * n, n, MPI_DOUBLE, down, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(a + rows * n, n, MPI_DOUBLE, down, 1, a, n, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/* Means of four neighbours on a grid that does not fit into the caches of a core. */
static void jacobi(int steps) {
  const int n = 1536, rows = first_of(n, rank + 1) - first_of(n, rank);
  double *a = calloc((size_t)(rows + 2) * n, sizeof *a),
         *b = calloc((size_t)(rows + 2) * n, sizeof *b);
  double mine = 0, sum;
  if (rank == 0)
    for (int j = 0; j < n; ++j) a[j] = b[j] = 1;
  for (int s = 0; s < 20 * steps; ++s) {
    swap_rows(a, rows, n);
    for (int i = 1; i <= rows; ++i)
      for (int j = 1; j < n - 1; ++j)
        b[i * n + j] =
            (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]) / 4;
    double* t = a;
    a = b, b = t;
  }
  for (int i = n; i < (rows + 1) * n; ++i) mine += a[i];
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  wrong = !(sum > 0 && sum < n * n);
  free(a), free(b);
}

/* Conjugate gradients for Poisson's equation on a grid in the caches: two sums a step. */
static void gradient(int steps) {
  const int n = 256, rows = first_of(n, rank + 1) - first_of(n, rank), points = rows * n;
  double *x = calloc((size_t)points, sizeof *x), *r = malloc(sizeof *r * (size_t)points);
  double *p = calloc((size_t)(rows + 2) * n, sizeof *p), *q = malloc(sizeof *q * (size_t)points);
  double old = 0, now = 0, first;
  for (int i = 0; i < points; ++i) r[i] = p[n + i] = 1, old += 1;
  MPI_Allreduce(MPI_IN_PLACE, &old, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  first = old;
  for (int s = 0; s < 100 * steps; ++s) {
    double pq = 0;
    swap_rows(p, rows, n);
    for (int i = 0; i < points; ++i) {
      const double left = i % n ? p[n + i - 1] : 0, right = i % n < n - 1 ? p[n + i + 1] : 0;
      q[i] = 4 * p[n + i] - left - right - p[i] - p[2 * n + i];
      pq += q[i] * p[n + i];
    }
    MPI_Allreduce(MPI_IN_PLACE, &pq, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    now = 0;
    for (int i = 0; i < points; ++i) {
      x[i] += old / pq * p[n + i];
      r[i] -= old / pq * q[i];
      now += r[i] * r[i];
    }
    MPI_Allreduce(MPI_IN_PLACE, &now, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < points; ++i) p[n + i] = r[i] + now / old * p[n + i];
    old = now;
  }
  wrong = !(now < 1e6 * first && isfinite(now));
  free(x), free(r), free(p), free(q);
}

/* A product of matrices by rows: the second one is gathered, block by block. */
static void product(int steps) {
  const int n = 384, begin = first_of(n, rank), rows = first_of(n, rank + 1) - begin;
  double *a = malloc(sizeof *a * (size_t)(rows * n)), *b = malloc(sizeof *b * (size_t)(n * n));
  double* c = malloc(sizeof *c * (size_t)(rows * n));
  int *counts = malloc(sizeof *counts * (size_t)size),
      *places = malloc(sizeof *places * (size_t)size);
  for (int i = 0; i < size; ++i)
    places[i] = first_of(n, i) * n, counts[i] = (first_of(n, i + 1) - first_of(n, i)) * n;
  for (int s = 0; s < 2 * steps; ++s) {
    for (int i = 0; i < rows * n; ++i) a[i] = 1, b[begin * n + i] = 2;
    memset(c, 0, sizeof *c * (size_t)(rows * n));
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, counts, places, MPI_DOUBLE,
                   MPI_COMM_WORLD);
    for (int i = 0; i < rows; ++i)
      for (int k = 0; k < n; ++k)
        for (int j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
    for (int i = 0; i < rows * n; ++i) wrong |= c[i] != 2 * n;
  }
  free(a), free(b), free(c), free(counts), free(places);
}

static int compare(const void* a, const void* b) {
  const unsigned x = *(const unsigned*)a, y = *(const unsigned*)b;
  return (x > y) - (x < y);
}

/* A sort of numbers that are evenly spread: each rank takes a range. */
static void sort(int steps) {
  const int n = 1 << 19, own = first_of(n, rank + 1) - first_of(n, rank);
  unsigned *numbers = malloc(sizeof *numbers * (size_t)own), *taken = NULL,
           *sorted = malloc(sizeof *sorted * (size_t)own);
  int* count = calloc((size_t)size * 4, sizeof *count);
  for (int s = 0; s < steps; ++s) {
    int *gets = count + size, *to = gets + size, *from = to + size, all = 0;
    unsigned state = 7u + (unsigned)(rank + s);
    memset(count, 0, sizeof *count * (size_t)size);
    for (int i = 0; i < own; ++i) {
      numbers[i] = state = state * 1664525u + 1013904223u;
      ++count[(unsigned long long)numbers[i] * (unsigned)size >> 32];
    }
    MPI_Alltoall(count, 1, MPI_INT, gets, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0, at = 0; i < size; ++i)
      to[i] = at, from[i] = all, at += count[i], all += gets[i];
    for (int i = 0; i < own; ++i)
      sorted[to[(unsigned long long)numbers[i] * (unsigned)size >> 32]++] = numbers[i];
    for (int i = 0; i < size; ++i) to[i] -= count[i];
    taken = realloc(taken, sizeof *taken * (size_t)(all + 1));
    MPI_Alltoallv(sorted, count, to, MPI_UNSIGNED, taken, gets, from, MPI_UNSIGNED, MPI_COMM_WORLD);
    qsort(taken, (size_t)all, sizeof *taken, compare);
    for (int i = 1; i < all; ++i) wrong |= taken[i - 1] > taken[i];
  }
  free(numbers), free(taken), free(sorted), free(count);
}

/* The processor time of this process, s: real time also where the times of ranks are predicted. */
static double processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The seconds that a sort of numbers in the caches takes: how fast the processor is just now. The
 * least of several: other work on the machine empties the caches. All numbers differ: a processor
 * learns the outcomes of comparisons that it has seen before. */
static double known_work(void) {
  enum { MANY = 1 << 15, TIMES = 8 };
  static unsigned a[MANY], state = 7;
  double least = INFINITY;
  for (int t = 0; t < TIMES; ++t) {
    const double begun = processor_seconds();
    for (int i = 0; i < MANY; ++i) a[i] = state = state * 1664525u + 1013904223u;
    qsort(a, MANY, sizeof *a, compare);
    least = fmin(least, processor_seconds() - begun);
  }
  return least;
}

static const struct {
  const char* name;
  void (*run)(int steps);
} programs[] = {{"jacobi", jacobi}, {"gradient", gradient}, {"product", product}, {"sort", sort}};

int main(int argc, char** argv) {
  enum { PROGRAMS = sizeof programs / sizeof *programs };
  int which = 0, any = 0, steps = argc > 2 ? atoi(argv[2]) : 4;
  double seconds[4], longest[4];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  while (which < PROGRAMS && (argc < 2 || strcmp(argv[1], programs[which].name))) ++which;
  if (which == PROGRAMS) {
    for (int i = 0; i < PROGRAMS && !rank; ++i) fprintf(stderr, "%s ", programs[i].name);
    if (!rank) fprintf(stderr, "are the programs\n");
    MPI_Finalize();
    return 2;
  }
  programs[which].run(1); /* touches the memory, connects */
  seconds[3] = known_work();
  MPI_Barrier(MPI_COMM_WORLD);
  seconds[0] = MPI_Wtime();
  seconds[1] = waited_for_cores();
  seconds[2] = processor_seconds();
  programs[which].run(steps);
  seconds[0] = MPI_Wtime() - seconds[0];
  seconds[1] = waited_for_cores() - seconds[1];
  seconds[2] = processor_seconds() - seconds[2];
  seconds[3] = (seconds[3] + known_work()) / 2;
  MPI_Reduce(seconds, longest, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&wrong, &any, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (!rank) printf("%s %d ranks %.6f s%s\n", argv[1], size, longest[0], any ? " WRONG" : "");
  if (!rank)
    printf("no core for %.6f s\nprocessor %.6f s\nknown work %.6f s\n", longest[1], longest[2],
           longest[3]);
  MPI_Finalize();
  return any;
}
