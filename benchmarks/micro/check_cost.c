/* What mpiexec -check costs: times of messages and collectives of all ranks of a job, a line each:
 * name, microseconds.
 *
 *   mpiexec -n 2 -nfg 500 check_cost
 *   mpiexec -check -n 2 -nfg 500 check_cost
 *
 * check_cost.py runs both in turn and prints the ratios. A time is processor time of the processes
 * for a step of all ranks, because that of the clock says more about what else the machine does;
 * the best of 7 batches. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int rank, size;
static char *in, *out;
static int *counts, *displs; /* of a part of `bytes` for each rank */
static MPI_Comm grid;        /* periodic, of two dimensions */

typedef void (*Step)(int bytes);

static void barrier(int bytes) {
  (void)bytes;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void bcast(int bytes) { MPI_Bcast(in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD); }
static void allreduce(int bytes) {
  MPI_Allreduce(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void allgather(int bytes) {
  MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static void gatherv(int bytes) {
  MPI_Gatherv(in, bytes, MPI_BYTE, out, counts, displs, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void scatterv(int bytes) {
  MPI_Scatterv(in, counts, displs, MPI_BYTE, out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void alltoallv(int bytes) {
  (void)bytes;
  MPI_Alltoallv(in, counts, displs, MPI_BYTE, out, counts, displs, MPI_BYTE, MPI_COMM_WORLD);
}
static void neighbor_alltoall(int bytes) {
  MPI_Neighbor_alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, grid);
}
static void iallreduce(int bytes) {
  MPI_Request r;
  MPI_Iallreduce(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}
static void sendrecv(int bytes) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Sendrecv(in, bytes, MPI_BYTE, next, 0, out, bytes, MPI_BYTE, before, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}
/* Pairs of neighbours: one sends, the other receives, and back. */
static void pairs(int bytes) {
  const int other = rank ^ 1;
  if (other >= size) return;
  for (int turn = 0; turn < 2; ++turn)
    if ((rank & 1) == turn)
      MPI_Send(in, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    else
      MPI_Recv(out, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
/* Exchange with four neighbours, as stencils do. */
static void halo(int bytes) {
  static const int kFar[] = {1, -1, 20, -20};
  MPI_Request r[8];
  for (int i = 0; i < 4; ++i) {
    const int from = (rank + kFar[i] + 20 * size) % size, to = (rank - kFar[i] + 20 * size) % size;
    MPI_Irecv(out + i * bytes, bytes, MPI_BYTE, from, i, MPI_COMM_WORLD, &r[i]);
    MPI_Isend(in + i * bytes, bytes, MPI_BYTE, to, i, MPI_COMM_WORLD, &r[4 + i]);
  }
  MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
}

static double processor_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void measure(const char* name, Step step, int bytes, int count) {
  enum { kBatches = 7 };
  double best = 1e9;
  step(bytes);
  for (int batch = 0; batch < kBatches; ++batch) {
    double t, slowest;
    MPI_Barrier(MPI_COMM_WORLD);
    t = processor_time();
    for (int i = 0; i < count; ++i) step(bytes);
    t = (processor_time() - t) / count;
    MPI_Allreduce(&t, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (slowest < best) best = slowest;
  }
  if (rank == 0) printf("%s_%d %.3f\n", name, bytes, best * 1e6);
}

int main(int argc, char** argv) {
  const int most = 65536 * 4;
  const int scale = argc > 1 ? atoi(argv[1]) : 1;
  int dims[2] = {0, 0}, periods[2] = {1, 1};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  in = calloc(1, (size_t)(most > 8 * size ? most : 8 * size));
  out = calloc(1, (size_t)(most > 8 * size ? most : 8 * size));
  counts = malloc(sizeof(int) * (size_t)size);
  displs = malloc(sizeof(int) * (size_t)size);
  for (int i = 0; i < size; ++i) displs[i] = 8 * i, counts[i] = 8;
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  measure("barrier", barrier, 0, 40 * scale);
  measure("bcast", bcast, 8, 40 * scale);
  measure("allreduce", allreduce, 8, 40 * scale);
  measure("allreduce", allreduce, 4096, 20 * scale);
  measure("iallreduce", iallreduce, 8, 20 * scale);
  measure("allgather", allgather, 8, 5 * scale);
  measure("gatherv", gatherv, 8, 10 * scale);
  measure("scatterv", scatterv, 8, 10 * scale);
  measure("alltoallv", alltoallv, 8, scale);
  measure("neighbor_alltoall", neighbor_alltoall, 8, 20 * scale);
  measure("pairs", pairs, 8, 100 * scale);
  measure("pairs", pairs, 4096, 50 * scale);
  measure("pairs", pairs, 65536, 10 * scale);
  measure("sendrecv", sendrecv, 8, 40 * scale);
  measure("sendrecv", sendrecv, 4096, 20 * scale);
  measure("halo", halo, 8, 20 * scale);
  measure("halo", halo, 4096, 10 * scale);
  measure("halo", halo, 65536, 3 * scale);
  MPI_Comm_free(&grid);
  free(in);
  free(out);
  free(counts);
  free(displs);
  MPI_Finalize();
  return 0;
}
