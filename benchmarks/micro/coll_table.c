/* Times of collectives, one line each: for this library and for any other MPI (compile with its
 * mpicc).
 *
 *   mpiexec -n 2 -nfg 500 coll_table          barrier, bcast, allreduce, gather, alltoall of usual
 * sizes mpiexec -n 2 -nfg 500 coll_table barrier bcast_8
 *
 * For broadcast and allreduce of long vectors a line gives the bound by memory: what plain memcpy
 * of the bytes that must be read and written takes on one core at this moment, divided by the
 * processes that share the work (FGMPI_PROCESSES, 1 unless given). Allreduce must read each rank's
 * vector and write each rank's result; broadcast must write N - 1. Without globals of its own, so
 * that as many ranks fit as without privatisation. Times are medians over repetitions; a line in a
 * loaded machine says little. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

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

/* Seconds to copy `bytes` once, in pieces of at most 16 MiB out of fresh memory. */
static double copy_time(double bytes) {
  size_t piece = bytes < (16 << 20) ? (size_t)bytes : 16 << 20;
  char *a = malloc(piece), *b = malloc(piece);
  memset(a, 1, piece);
  memset(b, 1, piece);
  int times = 8;
  double start = MPI_Wtime();
  for (int i = 0; i < times; ++i) {
    memcpy(b, a, piece);
    a[i] = b[piece - 1];
  }
  double each = (MPI_Wtime() - start) / times;
  free(a);
  free(b);
  return each * (bytes / (double)piece);
}

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
  /* A rank that comes last need not wait: only many in a row have a time that is everybody's. */
  MPI_Barrier(MPI_COMM_WORLD);
  run(kind, in, out, bytes);
  double start = MPI_Wtime();
  run(kind, in, out, bytes);
  double once = MPI_Wtime() - start;
  int batch = (int)(0.02 / (once + 1e-7));
  if (batch < 8) batch = once > 0.2 ? 2 : 8;
  if (batch > 2000) batch = 2000;
  MPI_Bcast(&batch, 1, MPI_INT, 0, MPI_COMM_WORLD);
  enum { kRounds = 9 };
  double times[kRounds];
  for (int round = 0; round < kRounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int i = 0; i < batch; ++i) run(kind, in, out, bytes);
    times[round] = (MPI_Wtime() - start) / batch;
  }
  if (rank == 0) {
    qsort(times, kRounds, sizeof *times, by_value);
    double t = times[kRounds / 2];
    printf("%-14s %8d %12.2f us %10.1f ns/rank", name, size, t * 1e6, t * 1e9 / size);
    if ((kind == BCAST || kind == ALLREDUCE) && bytes >= 1 << 20) {
      const char* text = getenv("FGMPI_PROCESSES");
      int processes = text ? atoi(text) : 1;
      double bound = copy_time((double)bytes * (kind == BCAST ? size - 1 : size)) /
                     (processes > 0 ? processes : 1);
      printf("   bound %10.2f us, %.2f x", bound * 1e6, t / bound);
    }
    printf("\n");
    fflush(stdout);
  }
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
