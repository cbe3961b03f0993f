/* What mpicc -check costs where a program computes: times of loops that load and store, a line
 * each: name, microseconds.
 *
 * access_cost.py compiles this with and without -check, runs both in turn and prints the ratios.
 * Each loop runs while no operation is pending, again ("pending") while a receive owns a buffer
 * that lies between the arrays of the loop, and again ("amid") while receives own an element of
 * each array that no loop touches. A time is processor time of the rank's thread for the whole
 * loop; the best of 7. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kSide = 256, kCells = kSide * kSide, kOrder = 64, kBatches = 7 };

static double before[kCells + 1];
static double owned[kSide]; /* what the receive fills */
static double after[kCells + 1];
static int places[kCells];
static char text[8 * kCells], copy[8 * kCells];
static volatile double sink;
/* What the compiler knows no size of. */
static double *values, *vector, *result;
static int *columns, *rows;
struct item {
  struct item* next;
  double value;
};
static struct item items[kCells];

static void stencil(void) {
  for (int i = 1; i < kSide - 1; ++i)
    for (int j = 1; j < kSide - 1; ++j) {
      const int at = i * kSide + j;
      after[at] =
          0.25 * (before[at - 1] + before[at + 1] + before[at - kSide] + before[at + kSide]);
    }
}
static void triad(void) {
  for (int i = 0; i < kCells; ++i) after[i] = before[i] + 3.0 * after[i];
}
static void gather(void) {
  double sum = 0;
  for (int i = 0; i < kCells; ++i) sum += before[places[i]];
  sink = sum;
}
static void product(void) {
  for (int i = 0; i < kOrder; ++i)
    for (int j = 0; j < kOrder; ++j) {
      double sum = 0;
      for (int k = 0; k < kOrder; ++k) sum += before[i * kOrder + k] * before[k * kOrder + j];
      after[i * kOrder + j] = sum;
    }
}
static void bytes(void) {
  unsigned sum = 0;
  for (int i = 0; i < 8 * kCells; ++i) sum = sum * 31 + (unsigned char)text[i];
  sink = sum;
}
static void blocks(void) {
  for (int i = 0; i < 8 * kCells; i += 256) memcpy(copy + i, text + i, 256);
}
static void sparse(void) {
  for (int i = 0; i < kSide; ++i) {
    double sum = 0;
    for (int k = rows[i]; k < rows[i + 1]; ++k) sum += values[k] * vector[columns[k]];
    result[i] = sum;
  }
}
static void list(void) {
  double sum = 0;
  for (const struct item* i = items; i; i = i->next) sum += i->value;
  sink = sum;
}
static void small(void) { /* matrices of 3 x 3 */
  for (int m = 0; m + 9 <= kCells; m += 9)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        double sum = 0;
        for (int k = 0; k < 3; ++k) sum += values[m + 3 * i + k] * vector[m + 3 * k + j];
        result[m + 3 * i + j] = sum;
      }
}
static __attribute__((noinline)) double larger(const double* x, const double* y) {
  return *x > *y ? *x : *y;
}
static void calls(void) {
  double sum = 0;
  for (int i = 0; i < kCells; ++i) sum += larger(&before[i], &after[i]);
  sink = sum;
}
static void sift(void) { /* a heap's root goes down, again and again */
  for (int n = 0; n < 4096; ++n) {
    int at = 0;
    const double value = vector[n];
    for (int child = 1; child < kCells; child = 2 * at + 1) {
      if (child + 1 < kCells && result[child + 1] > result[child]) ++child;
      if (result[child] <= value) break;
      result[at] = result[child];
      at = child;
    }
    result[at] = value;
  }
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static const struct {
  const char* name;
  void (*run)(void);
} loops[] = {{"stencil", stencil}, {"triad", triad},   {"gather", gather}, {"product", product},
             {"bytes", bytes},     {"blocks", blocks}, {"sparse", sparse}, {"list", list},
             {"small", small},     {"calls", calls},   {"sift", sift}};

static void measure(const char* suffix) {
  for (unsigned l = 0; l < sizeof loops / sizeof *loops; ++l) {
    double best = 1e30;
    for (int i = 0; i < kCells; ++i) result[i] = kCells - i;
    for (int b = 0; b < kBatches; ++b) {
      const double start = now();
      loops[l].run();
      const double time = now() - start;
      if (time < best) best = time;
    }
    printf("%s%s %.2f\n", loops[l].name, suffix, best);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < kCells; ++i) {
    before[i] = i % 7;
    after[i] = 0;
    places[i] = (int)((unsigned)i * 40503u % kCells);
  }
  for (int i = 0; i < 8 * kCells; ++i) text[i] = (char)i;
  values = malloc(sizeof before), vector = malloc(sizeof before),
  result = malloc(2 * sizeof before);
  columns = malloc(sizeof places), rows = malloc(sizeof places);
  for (int i = 0; i < kCells; ++i) {
    values[i] = i % 5;
    vector[i] = i % 3;
    columns[i] = places[i];
    rows[i] = 200 * i;
    items[places[i]] = (struct item){
        i + 1 < kCells ? &items[(int)((unsigned)(i + 1) * 40503u % kCells)] : NULL, i};
  }
  measure("");
  MPI_Request request;
  MPI_Irecv(owned, kSide, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
  measure(".pending");
  const double sent[kSide] = {0};
  MPI_Send(sent, kSide, MPI_DOUBLE, 0, 0, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  double* const last[] = {before + kCells, after + kCells, result + 2 * kCells - 1};
  MPI_Request amid[3];
  for (int i = 0; i < 3; ++i) MPI_Irecv(last[i], 1, MPI_DOUBLE, 0, i, MPI_COMM_SELF, &amid[i]);
  measure(".amid");
  for (int i = 0; i < 3; ++i) MPI_Send(sent, 1, MPI_DOUBLE, 0, i, MPI_COMM_SELF);
  for (int i = 0; i < 3; ++i) MPI_Wait(&amid[i], MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
