/* Times of collectives, one line each: for this library and for any other MPI (compile with its
 * mpicc).
 *
 *   mpiexec -n 2 -nfg 500 coll_table
 *   mpiexec -n 2 -nfg 500 coll_table barrier bcast_8
 *
 * The bound of long vectors (bcast_4m, allreduce_4m), in the last columns: the time in which this
 * machine moves the bytes that any algorithm must read and write. A process that hosts k ranks must
 *   allreduce  read k vectors and write k vectors
 *   bcast      read the root's vector once and write k (at the root's process k - 1)
 * and bound = (bytes read + bytes written) / bandwidth, where the bandwidth is what the best of
 * some plain copying loops reaches on as many bytes, in as many buffers of the same size, all
 * processes at once, in this run: memcpy of whole vectors, memcpy in pieces, and stores that pass
 * the caches; for a broadcast from one source to many destinations. Copying and the collective take
 * turns, so that both see the same load.
 *
 * Every time is that of the slowest rank, a mean over a batch, and the best of 9 batches, because
 * other work on the machine makes batches longer, never shorter. The program has no globals, so
 * that as many ranks fit as without privatisation. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "coll_leaders.h"

typedef enum { BARRIER, BCAST, ALLREDUCE, GATHER, ALLTOALL } Kind;

static void run(Kind kind, void* in, void* out, int bytes) {
  switch (kind) {
    case BARRIER:
      MPI_Barrier(MPI_COMM_WORLD);
      break;
    case BCAST:
      MPI_Bcast(in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
      break;
    case ALLREDUCE:
      MPI_Allreduce(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      break;
    case GATHER:
      MPI_Gather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
      break;
    case ALLTOALL:
      MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
      break;
  }
}

/* ---- The bound: the same bytes by plain loops ---- */

enum { kRounds = 9, kBatch = 2, kPiece = 32 * 1024, kLoops = 3 };

static void copy_plain(char* to, const char* from, size_t bytes) { memcpy(to, from, bytes); }

/* Past the caches, whole lines: the destination is not read before it is overwritten. */
#ifdef __x86_64__
__attribute__((target("avx512f"))) static void lines_512(char* to, const char* from, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64)
    _mm512_stream_si512((__m512i*)(to + i), _mm512_loadu_si512(from + i));
}
/* Not __builtin_cpu_supports: that has a global. */
static int has_avx512(void) {
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX512F)) return 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & 0xe6) == 0xe6;
}
static void lines_128(char* to, const char* from, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 16)
    _mm_stream_si128((__m128i*)(to + i), _mm_loadu_si128((const __m128i*)(from + i)));
}
#endif
static void copy_past_caches(char* to, const char* from, size_t bytes) {
#ifdef __x86_64__
  size_t head = (64 - ((size_t)to & 63)) & 63;
  if (bytes > 64 + head) {
    size_t whole = (bytes - head) & ~(size_t)63;
    memcpy(to, from, head);
    (has_avx512() ? lines_512 : lines_128)(to + head, from + head, whole);
    _mm_sfence();
    to += head + whole;
    from += head + whole;
    bytes -= head + whole;
  }
#endif
  memcpy(to, from, bytes);
}

/* What a process must move: every source is read once, every destination written once; with one
 * source it is for all. */
typedef struct {
  MPI_Comm leaders; /* one rank a process; MPI_COMM_NULL at others */
  int sources, destinations;
  size_t bytes;
  char **from, **to;
  double best;
} Bound;

static void free_vectors(char** vectors, int n) {
  for (int i = 0; i < n; ++i) free(vectors[i]);
  free(vectors);
}

static char** vectors(int n, size_t bytes) {
  char** all = malloc((size_t)(n + 1) * sizeof *all);
  for (int i = 0; i < n; ++i) memset(all[i] = malloc(bytes), i, bytes);
  return all;
}

static void start_bound(Bound* b, Kind kind, size_t bytes) {
  int hosted, rank;
  find_leaders(&b->leaders, &hosted);
  if (b->leaders == MPI_COMM_NULL) return;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  b->bytes = bytes;
  b->best = 1e9;
  b->sources = kind == BCAST ? 1 : hosted;
  b->destinations = kind == BCAST && rank == 0 ? hosted - 1 : hosted;
  b->from = vectors(b->sources, bytes);
  b->to = vectors(b->destinations, bytes);
}

/* Loop 0 goes vector by vector with memcpy; 1 and 2 go through all vectors piece by piece. */
static void move_all(const Bound* b, int loop) {
  void (*copy)(char*, const char*, size_t) = loop == 2 ? copy_past_caches : copy_plain;
  size_t piece = loop == 0 ? b->bytes : kPiece;
  for (size_t at = 0; at < b->bytes; at += piece)
    for (int i = 0; i < b->destinations; ++i)
      copy(b->to[i] + at, b->from[i % b->sources] + at,
           piece < b->bytes - at ? piece : b->bytes - at);
}

static void time_bound(Bound* b) {
  if (b->leaders == MPI_COMM_NULL) return;
  for (int loop = 0; loop < kLoops; ++loop) {
    MPI_Barrier(b->leaders);
    double start = MPI_Wtime(), slowest;
    for (int i = 0; i < kBatch; ++i) move_all(b, loop);
    double mine = (MPI_Wtime() - start) / kBatch;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, b->leaders);
    if (slowest < b->best) b->best = slowest;
  }
}

static void report_bound(const Bound* b, double t) {
  double moved = (double)b->bytes * (b->sources + b->destinations);
  printf("   bound %10.2f us (%.1f GB/s a process): %.2f x", b->best * 1e6, moved / b->best / 1e9,
         t / b->best);
}

static void end_bound(Bound* b) {
  if (b->leaders == MPI_COMM_NULL) return;
  free_vectors(b->from, b->sources);
  free_vectors(b->to, b->destinations);
  MPI_Comm_free(&b->leaders);
}

/* ---- Collectives ---- */

static void measure(const char* name, Kind kind, int bytes) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  size_t in_bytes = (size_t)bytes * (kind == ALLTOALL ? (size_t)size : 1);
  size_t out_bytes = kind == ALLREDUCE ? (size_t)bytes : kind == ALLTOALL ? in_bytes : 0;
  if (kind == GATHER && rank == 0) out_bytes = (size_t)bytes * (size_t)size;
  char *in = malloc(in_bytes + 1), *out = malloc(out_bytes + 1);
  memset(in, 0, in_bytes + 1);
  memset(out, 0, out_bytes + 1);
  int bounded = (kind == BCAST || kind == ALLREDUCE) && bytes >= 1 << 20;
  Bound bound;
  if (bounded) start_bound(&bound, kind, (size_t)bytes);
  /* The rank that arrives last need not wait. Only the time of many collectives in a row is the
   * same at all ranks. */
  MPI_Barrier(MPI_COMM_WORLD);
  run(kind, in, out, bytes);
  double start = MPI_Wtime();
  run(kind, in, out, bytes);
  double once = MPI_Wtime() - start;
  int batch = (int)(0.02 / (once + 1e-7));
  if (batch < 8) batch = once > 0.2 ? 2 : 8;
  if (batch > 2000) batch = 2000;
  if (bounded) batch = kBatch;
  MPI_Bcast(&batch, 1, MPI_INT, 0, MPI_COMM_WORLD);
  double t = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    if (bounded) time_bound(&bound);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int i = 0; i < batch; ++i) run(kind, in, out, bytes);
    double mine = (MPI_Wtime() - start) / batch, slowest;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (slowest < t) t = slowest;
  }
  if (rank == 0) {
    printf("%-14s %8d %12.2f us %10.1f ns/rank", name, size, t * 1e6, t * 1e9 / size);
    if (bounded) report_bound(&bound, t);
    printf("\n");
    fflush(stdout);
  }
  if (bounded) end_bound(&bound);
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    Kind kind;
    int bytes, most; /* not for more ranks than this */
  } all[] = {
      {"barrier", BARRIER, 0, 1 << 30},          {"bcast_8", BCAST, 8, 1 << 30},
      {"bcast_64k", BCAST, 1 << 16, 20000},      {"bcast_4m", BCAST, 1 << 22, 128},
      {"allreduce_8", ALLREDUCE, 8, 1 << 30},    {"allreduce_64k", ALLREDUCE, 1 << 16, 20000},
      {"allreduce_4m", ALLREDUCE, 1 << 22, 128}, {"gather_8", GATHER, 8, 1 << 30},
      {"alltoall_8", ALLTOALL, 8, 4000}};
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) printf("%-14s %8s %15s %18s\n", "collective", "ranks", "time", "per rank");
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    int wanted = argc < 2;
    for (int k = 1; k < argc; ++k) wanted |= strcmp(argv[k], all[i].name) == 0;
    if (wanted && size <= all[i].most) measure(all[i].name, all[i].kind, all[i].bytes);
  }
  MPI_Finalize();
  return 0;
}
