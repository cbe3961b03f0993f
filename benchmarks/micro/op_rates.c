/* Rates of reductions of two vectors by MPI_Reduce_local, for any MPI library: GB/s of what is read
 * and written (three times the vector), for every basic type of C, at two lengths: one that lies in
 * the caches and one that does not. Beside them what memory allows: the best of memcpy (read and
 * written: two times the vector) and of a loop that adds doubles (three times).
 *
 *   mpiexec -n 1 op_rates [SECONDS]
 *
 * Each figure is the best of many rounds within SECONDS (0.05). */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kShort = 16 << 10, kLong = 64 << 20, kOps = 6 };

static double seconds = 0.05;
static char *in, *inout;

/* Calls body(bytes) until `seconds` have gone; returns the least seconds of a call. */
static double best_of(void (*body)(int64_t bytes), int64_t bytes) {
  double best = 1e9, end = MPI_Wtime() + seconds;
  const int batch = bytes == kShort ? 100 : 1;
  do {
    double begin = MPI_Wtime();
    for (int i = 0; i < batch; ++i) body(bytes);
    begin = (MPI_Wtime() - begin) / batch;
    if (begin < best) best = begin;
  } while (MPI_Wtime() < end);
  return best;
}

static MPI_Datatype type;
static MPI_Op operation;
static int size;

static void reduce(int64_t bytes) {
  MPI_Reduce_local(in, inout, (int)(bytes / size), type, operation);
}
static void copy(int64_t bytes) {
  memcpy(inout, in, (size_t)bytes);
  __asm__ volatile("" ::: "memory");
}
static void add(int64_t bytes) {
  const double* from = (const double*)in;
  double* to = (double*)inout;
  for (int64_t i = 0; i < bytes / 8; ++i) to[i] += from[i];
  __asm__ volatile("" ::: "memory");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1) seconds = atof(argv[1]);
  in = aligned_alloc(4096, kLong);
  inout = aligned_alloc(4096, kLong);
  memset(in, 0, kLong);
  memset(inout, 0, kLong);
  static const struct {
    const char* name;
    MPI_Datatype type;
    int has_order, has_bits;
  } types[] = {
      {"int8_t", MPI_INT8_T, 1, 1},
      {"uint8_t", MPI_UINT8_T, 1, 1},
      {"int16_t", MPI_INT16_T, 1, 1},
      {"uint16_t", MPI_UINT16_T, 1, 1},
      {"int32_t", MPI_INT32_T, 1, 1},
      {"uint32_t", MPI_UINT32_T, 1, 1},
      {"int64_t", MPI_INT64_T, 1, 1},
      {"uint64_t", MPI_UINT64_T, 1, 1},
      {"float", MPI_FLOAT, 1, 0},
      {"double", MPI_DOUBLE, 1, 0},
      {"long double", MPI_LONG_DOUBLE, 1, 0},
      {"float complex", MPI_C_FLOAT_COMPLEX, 0, 0},
      {"double complex", MPI_C_DOUBLE_COMPLEX, 0, 0},
  };
  static const struct {
    const char* name;
    MPI_Op op;
    int needs_order, needs_bits;
  } ops[kOps] = {{"sum", MPI_SUM, 0, 0}, {"prod", MPI_PROD, 0, 0}, {"max", MPI_MAX, 1, 0},
                 {"min", MPI_MIN, 1, 0}, {"band", MPI_BAND, 0, 1}, {"bxor", MPI_BXOR, 0, 1}};
  const int64_t lengths[] = {kShort, kLong};
  for (int l = 0; l < 2; ++l) {
    printf("%lld KiB, GB/s: memcpy %.1f, a loop that adds doubles %.1f\n",
           (long long)lengths[l] >> 10, 2e-9 * (double)lengths[l] / best_of(copy, lengths[l]),
           3e-9 * (double)lengths[l] / best_of(add, lengths[l]));
    memset(inout, 0, kLong);
    printf("%-16s", "");
    for (int o = 0; o < kOps; ++o) printf("%8s", ops[o].name);
    printf("\n");
    for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
      type = types[t].type;
      MPI_Type_size(type, &size);
      printf("%-16s", types[t].name);
      for (int o = 0; o < kOps; ++o) {
        operation = ops[o].op;
        if ((ops[o].needs_order && !types[t].has_order) ||
            (ops[o].needs_bits && !types[t].has_bits))
          printf("%8s", "");
        else
          printf("%8.1f", 3e-9 * (double)lengths[l] / best_of(reduce, lengths[l]));
      }
      printf("\n");
    }
  }
  free(in);
  free(inout);
  MPI_Finalize();
  return 0;
}
