/* Messages of types with gaps, longer than any frame: from gaps to a row, from a row to gaps, from
 * gaps to other gaps, whole and truncated, expected and not. They are packed and laid out in
 * pieces: no memory of their size is needed, neither at the sender nor at the receiver.
 *   MIB (8): of each message */
#include <stdint.h>
#include <string.h>

#include "mpitest.h"

extern void __asan_init(void) __attribute__((weak));

static long resident_kib(void) {
  long kib = -1;
  char line[200];
  FILE* f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "RssAnon: %ld kB", &kib) == 1) break;
  if (f) fclose(f);
  return kib;
}

static int n; /* of doubles in a message */
static double value(int from, int i) { return from * 1e9 + i; }

/* A layout: where element i of n lies, in doubles. */
typedef struct {
  MPI_Datatype type;
  int count, block, stride;
} Layout;
static size_t place(const Layout* l, int i) {
  return (size_t)(i / l->block) * (size_t)l->stride + (size_t)(i % l->block);
}
static size_t doubles(const Layout* l) { return place(l, n - 1) + 1; }

static Layout layout(int block, int stride) {
  Layout l = {MPI_DOUBLE, n, block, stride};
  if (stride == block) return l;
  OK(MPI_Type_vector(n / block, block, stride, MPI_DOUBLE, &l.type));
  OK(MPI_Type_commit(&l.type));
  l.count = 1;
  return l;
}

static void exchange(const Layout* from, const Layout* to, int missing, int unexpected) {
  int rank, size, next, last;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  next = (rank + 1) % size, last = (rank + size - 1) % size;
  double* out = malloc(doubles(from) * sizeof *out);
  double* in = malloc(doubles(to) * sizeof *in);
  for (size_t i = 0; i < doubles(from); ++i) out[i] = -1;
  for (int i = 0; i < n; ++i) out[place(from, i)] = value(rank, i);
  for (size_t i = 0; i < doubles(to); ++i) in[i] = -2;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  /* A receive of fewer doubles: only a row can be cut anywhere. */
  const int count = to->count == 1 ? 1 : n - missing;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const long before = resident_kib();
  if (unexpected) {
    OK(MPI_Isend(out, from->count, from->type, next, 0, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Irecv(in, count, to->type, last, 0, MPI_COMM_WORLD, &requests[1]));
  } else {
    OK(MPI_Irecv(in, count, to->type, last, 0, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Isend(out, from->count, from->type, next, 0, MPI_COMM_WORLD, &requests[0]));
  }
  const int code = MPI_Waitall(2, requests, statuses);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const long grown = resident_kib() - before;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int cut = count != 1 && missing;
  int error_class;
  OK(MPI_Error_class(code, &error_class));
  CHECK(error_class == (cut ? MPI_ERR_IN_STATUS : MPI_SUCCESS));
  if (cut) {
    OK(MPI_Error_class(statuses[1].MPI_ERROR, &error_class));
    CHECK(error_class == MPI_ERR_TRUNCATE);
  }
  for (int i = 0; i < n - (cut ? missing : 0); ++i) CHECK(in[place(to, i)] == value(last, i));
  size_t untouched = 0;
  for (size_t i = 0; i < doubles(to); ++i) untouched += in[i] == -2;
  CHECK(untouched == doubles(to) - (size_t)n + (size_t)(cut ? missing : 0));
  /* 6 MiB: buffers of the network and pieces, of ranks that need them at the same time. */
  if (size == 2 && n * 8L > (64 << 20) && !__asan_init && grown > 6 << 10) {
    printf("a message of %d MiB took %ld KiB\n", n >> 17, grown);
    CHECK(grown <= 6 << 10);
  }
  free(out), free(in);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const char* mib = getenv("MIB");
  n = (mib ? atoi(mib) : 8) << 17;
  Layout layouts[] = {layout(1, 1), layout(1, 2), layout(4, 5), layout(512, 600)};
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to)
      for (int unexpected = 0; unexpected < 2; ++unexpected) {
        if (n > 8 << 17 && from + to != 1 && from + to != 3) continue; /* takes long */
        exchange(&layouts[from], &layouts[to], (from + to) % 2 ? 12345 : 0, unexpected);
      }
  for (int i = 1; i < 4; ++i) OK(MPI_Type_free(&layouts[i].type));
  return finish();
}
