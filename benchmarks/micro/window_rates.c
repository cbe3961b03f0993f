/* Windows of 64 messages in distinct buffers, which do not fit into the caches, from rank 0 to rank
 * 1 of any MPI, beside one memcpy of as many bytes by each of them in turn.
 *
 *   mpiexec -n 2 window_rates [alloc] [SIZE...]        between processes
 *   mpiexec -n 1 -nfg 2 window_rates                   collocated
 *   mpiexec.hydra -n 2 window_rates_mpich              the host MPICH (built with mpicc.mpich -O2)
 *
 * alloc: the buffers are from MPI_Alloc_mem in place of malloc. One line a size: bytes, GB/s of the
 * messages, GB/s of memcpy in the same second, and memcpy's rate over that of the messages (the
 * best of 9 rounds each). With PAIR_REALTIME set both ranks go before all other work of their
 * machine meanwhile (root). */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWindow = 64, kRounds = 9, kBuffers = 64 << 20 };
static int rank;

static void before_others(int yes) {
  struct sched_param priority = {yes ? 10 : 0};
  if (getenv("PAIR_REALTIME")) sched_setscheduler(0, yes ? SCHED_FIFO : SCHED_OTHER, &priority);
}

/* Sends or receives one window, message i at place i of `buffers`. */
static void send_window(char* buffers, size_t n) {
  MPI_Request r[kWindow];
  char token = 0;
  for (int i = 0; i < kWindow; i++)
    if (rank == 0)
      MPI_Isend(buffers + i * n, (int)n, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &r[i]);
    else
      MPI_Irecv(buffers + i * n, (int)n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r[i]);
  MPI_Waitall(kWindow, r, MPI_STATUSES_IGNORE);
  if (rank == 0)
    MPI_Recv(&token, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(&token, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
}

/* Seconds for all windows of the buffers. */
static double time_windows(char* buffers, size_t n) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (size_t at = 0; at < kBuffers; at += n * kWindow) send_window(buffers + at, n);
  return MPI_Wtime() - start;
}

/* Seconds for as many bytes by memcpy, message by message; the other rank waits. */
static double time_copies(char* to, const char* from, size_t n) {
  double seconds = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    const double start = MPI_Wtime();
    for (size_t at = 0; at < kBuffers; at += n) memcpy(to + at, from + at, n);
    seconds = MPI_Wtime() - start;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return seconds;
}

static void measure(char* buffers, char* others, size_t n) {
  double sent = 1e9, copied = 1e9;
  for (int round = 0; round < kRounds; round++) {
    before_others(1);
    const double send = time_windows(buffers, n), copy = time_copies(others, buffers, n);
    before_others(0);
    if (send < sent) sent = send;
    if (copy < copied) copied = copy;
  }
  if (rank == 0)
    printf("%8zu B %8.2f GB/s  memcpy %8.2f GB/s  ratio %5.2f\n", n, kBuffers / sent * 1e-9,
           kBuffers / copied * 1e-9, sent / copied);
}

int main(int argc, char** argv) {
  const size_t sizes[] = {4096, 16384, 65536, 262144, 1048576};
  char *buffers, *others = malloc(kBuffers);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int alloc = argc > 1 && strcmp(argv[1], "alloc") == 0;
  if (alloc)
    MPI_Alloc_mem(kBuffers, MPI_INFO_NULL, &buffers);
  else
    buffers = malloc(kBuffers);
  memset(buffers, rank + 1, kBuffers);
  memset(others, 3, kBuffers);
  for (int i = 1 + alloc; i < argc; i++) measure(buffers, others, strtoul(argv[i], NULL, 10));
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes && argc < 2 + alloc; i++)
    measure(buffers, others, sizes[i]);
  if (alloc)
    MPI_Free_mem(buffers);
  else
    free(buffers);
  free(others);
  MPI_Finalize();
  return 0;
}
