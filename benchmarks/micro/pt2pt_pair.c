/* Point-to-point between ranks 0 and 1 of any MPI: half round trips, message rate, bandwidth.
 *
 *   mpiexec -n 1 -nfg 2 pt2pt_pair       collocated
 *   mpiexec -n 2 pt2pt_pair              between processes
 *   mpiexec -n 1 pt2pt_pair              with a process of another job, which it spawns
 *   mpiexec.hydra -n 2 pt2pt_pair_mpich  the host MPICH (built with mpicc.mpich)
 *
 * pt2pt_pair table: one line a size, 8 bytes to 16 MiB, for scripts: bytes, microseconds, MB/s
 * (multihost_pair.sh). With PAIR_REALTIME set both ranks go before all other work of their machine
 * meanwhile (root). For counting instructions (pt2pt_instructions.sh): pt2pt_pair latency N [SHAPE]
 * and pt2pt_pair rate N, N round trips or windows of 64 messages, of 8 bytes or, with SHAPE, of 32
 * bytes: 'doubles', 'contiguous', 'vector', 'indexed', or 'struct' (29 bytes). */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWindow = 64, kRepeats = 5 };
static int rank;
static MPI_Comm pair;
static MPI_Datatype element = MPI_BYTE;

static double half_round_trip(char* b, int n, int count) {
  double best = 1e9;
  for (int repeat = 0; repeat < kRepeats; repeat++) {
    double t = MPI_Wtime();
    for (int i = 0; i < count; i++) {
      if (rank == 0) {
        MPI_Send(b, n, element, 1, 0, pair);
        MPI_Recv(b, n, element, 1, 0, pair, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(b, n, element, 0, 0, pair, MPI_STATUS_IGNORE);
        MPI_Send(b, n, element, 0, 0, pair);
      }
    }
    t = (MPI_Wtime() - t) / count / 2;
    if (t < best) best = t;
  }
  return best;
}

/* Seconds a message in windows of 64. */
static double streamed(char* b, int n, int windows) {
  MPI_Request r[kWindow];
  double best = 1e9;
  char token = 0;
  for (int repeat = 0; repeat < kRepeats; repeat++) {
    double t = MPI_Wtime();
    for (int w = 0; w < windows; w++) {
      for (int i = 0; i < kWindow; i++) {
        if (rank == 0)
          MPI_Isend(b, n, MPI_BYTE, 1, 1, pair, &r[i]);
        else
          MPI_Irecv(b, n, MPI_BYTE, 0, 1, pair, &r[i]);
      }
      MPI_Waitall(kWindow, r, MPI_STATUSES_IGNORE);
      if (rank == 0)
        MPI_Recv(&token, 1, MPI_BYTE, 1, 2, pair, MPI_STATUS_IGNORE);
      else
        MPI_Send(&token, 1, MPI_BYTE, 0, 2, pair);
    }
    t = (MPI_Wtime() - t) / windows / kWindow;
    if (t < best) best = t;
  }
  return best;
}

/* Sets or ends real-time priority: other work on the machine makes more of a difference than the
 * library otherwise. */
static void before_others(int yes) {
  struct sched_param priority = {yes ? 10 : 0};
  if (getenv("PAIR_REALTIME")) sched_setscheduler(0, yes ? SCHED_FIFO : SCHED_OTHER, &priority);
}

/* A few seconds of half round trips, then of windows of messages, over a network. In this order
 * because a stream leaves the kernel's connection with a wide window, after which its receiver
 * acknowledges each 4 KiB before it can answer. */
static void table(char* b) {
  enum { kSizes = 11 };
  const int sizes[kSizes] = {8,     64,     256,     1024,    4096,    16384,
                             65536, 262144, 1048576, 4194304, 16777216};
  double latency[kSizes], each[kSizes];
  for (int streams = 0; streams < 2; streams++) {
    for (int i = 0; i < kSizes; i++) {
      int n = sizes[i], count = (32 << 20) / n;
      count = count > 2000 ? 2000 : count < 4 ? 4 : count;
      before_others(1);
      if (streams) {
        each[i] = streamed(b, n, count / kWindow + 1);
      } else {
        half_round_trip(b, n, count / 4);
        latency[i] = half_round_trip(b, n, count);
      }
      before_others(0);
    }
  }
  for (int i = 0; i < kSizes && rank == 0; i++)
    printf("%d %.3f %.3f\n", sizes[i], latency[i] * 1e6, sizes[i] / each[i] * 1e-6);
}

/* A communicator with a process that is spawned. */
static MPI_Comm with_another_job(char** argv) {
  MPI_Comm between, merged;
  MPI_Comm_get_parent(&between);
  const int spawned = between != MPI_COMM_NULL;
  if (!spawned)
    MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between,
                   MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(between, spawned, &merged);
  return merged;
}

/* Four doubles, or a struct with three, in this shape; returns how many elements of it. */
static int make_element(const char* shape) {
  const int places[] = {0, 3, 4, 9}, lengths[] = {1, 3, 1};
  const MPI_Aint offsets[] = {0, 8, 32};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  if (strcmp(shape, "doubles") == 0) {
    element = MPI_DOUBLE;
    return 4;
  }
  if (strcmp(shape, "contiguous") == 0)
    MPI_Type_contiguous(4, MPI_DOUBLE, &element);
  else if (strcmp(shape, "vector") == 0)
    MPI_Type_vector(4, 1, 3, MPI_DOUBLE, &element);
  else if (strcmp(shape, "indexed") == 0)
    MPI_Type_create_indexed_block(4, 1, places, MPI_DOUBLE, &element);
  else
    MPI_Type_create_struct(3, lengths, offsets, types, &element);
  MPI_Type_commit(&element);
  return 1;
}

int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  pair = size > 1 ? MPI_COMM_WORLD : with_another_job(argv);
  MPI_Comm_rank(pair, &rank);
  char* b = malloc(16 << 20);
  memset(b, 1, 16 << 20);
  if (rank < 2 && argc > 2 && strcmp(argv[1], "latency") == 0) {
    half_round_trip(b, argc > 3 ? make_element(argv[3]) : 8, atoi(argv[2]));
  } else if (rank < 2 && argc > 2 && strcmp(argv[1], "rate") == 0) {
    streamed(b, 8, atoi(argv[2]));
  } else if (rank < 2 && argc > 1 && strcmp(argv[1], "table") == 0) {
    table(b);
  } else if (rank < 2) {
    half_round_trip(b, 8, 20000);
    double t = half_round_trip(b, 8, 100000);
    if (rank == 0) printf("8 B half round trip    %10.4f us\n", t * 1e6);
    t = streamed(b, 8, 2000);
    if (rank == 0) printf("8 B message rate       %10.2f million/s\n", 1e-6 / t);
    for (int n = 1024; n <= 16 << 20; n *= 4) {
      int count = n <= 65536 ? 2000 : 64 * ((16 << 20) / n) / 8;
      double latency = half_round_trip(b, n, count), each = streamed(b, n, count / kWindow + 1);
      if (rank == 0)
        printf("%8d B  half round trip %10.2f us  bandwidth %8.2f GB/s\n", n, latency * 1e6,
               n / each * 1e-9);
    }
  }
  free(b);
  if (element != MPI_BYTE && element != MPI_DOUBLE) MPI_Type_free(&element);
  if (pair != MPI_COMM_WORLD) MPI_Comm_free(&pair);
  MPI_Finalize();
  return 0;
}
