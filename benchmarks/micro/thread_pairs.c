/* Point-to-point of several threads a process at MPI_THREAD_MULTIPLE, of any MPI: thread t of rank
 * 0 with thread t of rank 1, in the patterns of osu_latency_mt and osu_mbw_mr. Beside it, what
 * MPI_THREAD_FUNNELED costs the only thread.
 *
 *   mpiexec -n 2 thread_pairs                ours
 *   mpiexec.hydra -n 2 thread_pairs_mpich    the host MPICH (built with mpicc.mpich -pthread)
 *
 * thread_pairs funneled: the main threads alone, nothing above MPI_THREAD_FUNNELED asked for.
 * thread_pairs 2 4: these numbers of threads only. One line a number of threads: that number,
 * microseconds of half a round trip of 8 bytes, million messages of 8 bytes a second in windows of
 * 64. Both are of all pairs, from when the first begins until the last has ended: else pairs that
 * run one after the other would count as if each were alone. Medians of kRepeats, and in brackets
 * the worst. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 8, kWindow = 64, kRepeats = 7, kRoundTrips = 80000, kWindows = 4800 };

static int rank, threads;
static double latency_start[kMost], latency_end[kMost], rate_start[kMost], rate_end[kMost];
static pthread_barrier_t together;

static void wait_for_all(void) {
  if (threads > 1) pthread_barrier_wait(&together);
}

static void pair(int t) {
  char b[8] = "";
  MPI_Request r[kWindow];
  wait_for_all();
  latency_start[t] = MPI_Wtime();
  for (int i = 0; i < kRoundTrips / threads; ++i) {
    if (rank == 0) {
      MPI_Send(b, 8, MPI_BYTE, 1, t, MPI_COMM_WORLD);
      MPI_Recv(b, 8, MPI_BYTE, 1, t, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(b, 8, MPI_BYTE, 0, t, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(b, 8, MPI_BYTE, 0, t, MPI_COMM_WORLD);
    }
  }
  latency_end[t] = MPI_Wtime();
  wait_for_all();
  rate_start[t] = MPI_Wtime();
  for (int w = 0; w < kWindows / threads; ++w) {
    for (int i = 0; i < kWindow; ++i)
      if (rank == 0)
        MPI_Isend(b, 8, MPI_BYTE, 1, t, MPI_COMM_WORLD, &r[i]);
      else
        MPI_Irecv(b, 8, MPI_BYTE, 0, t, MPI_COMM_WORLD, &r[i]);
    MPI_Waitall(kWindow, r, MPI_STATUSES_IGNORE);
    if (rank == 0)
      MPI_Recv(b, 1, MPI_BYTE, 1, t, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(b, 1, MPI_BYTE, 0, t, MPI_COMM_WORLD);
  }
  rate_end[t] = MPI_Wtime();
}

static void* run(void* thread) {
  pair((int)(size_t)thread);
  return NULL;
}

static int smaller(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Seconds from the first start to the last end. */
static double span(const double* start, const double* end) {
  double first = start[0], last = end[0];
  for (int t = 1; t < threads; ++t) {
    if (start[t] < first) first = start[t];
    if (end[t] > last) last = end[t];
  }
  return last - first;
}

static void measure(int count, int in_main) {
  double latencies[kRepeats], rates[kRepeats];
  threads = count;
  pthread_barrier_init(&together, NULL, count);
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    pthread_t handle[kMost];
    MPI_Barrier(MPI_COMM_WORLD);
    if (in_main) {
      pair(0);
    } else {
      for (int t = 0; t < count; ++t) pthread_create(&handle[t], NULL, run, (void*)(size_t)t);
      for (int t = 0; t < count; ++t) pthread_join(handle[t], NULL);
    }
    latencies[repeat] = span(latency_start, latency_end) / (kRoundTrips / count) / 2;
    rates[repeat] = (double)(kWindows / count * count) * kWindow / span(rate_start, rate_end);
  }
  qsort(latencies, kRepeats, sizeof latencies[0], smaller);
  qsort(rates, kRepeats, sizeof rates[0], smaller);
  if (rank == 0)
    printf("%7s %d %8.3f (%8.3f) %8.3f (%8.3f)\n", in_main ? "main" : "threads", count,
           latencies[kRepeats / 2] * 1e6, latencies[kRepeats - 1] * 1e6, rates[kRepeats / 2] * 1e-6,
           rates[0] * 1e-6);
  pthread_barrier_destroy(&together);
}

int main(int argc, char** argv) {
  const int funneled = argc > 1 && strcmp(argv[1], "funneled") == 0;
  int provided, size;
  MPI_Init_thread(&argc, &argv, funneled ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2 || (!funneled && provided != MPI_THREAD_MULTIPLE)) MPI_Abort(MPI_COMM_WORLD, 1);
  if (funneled || argc == 1) measure(1, 1);
  if (argc == 1)
    for (int count = 1; count <= kMost; count *= 2) measure(count, 0);
  for (int i = 1; i < argc && !funneled; ++i)
    if (atoi(argv[i]) >= 1 && atoi(argv[i]) <= kMost) measure(atoi(argv[i]), 0);
  MPI_Finalize();
  return 0;
}
