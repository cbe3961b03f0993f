/* One-sided operations of rank 0 on memory of rank 1, of any MPI.
 *
 *   mpiexec -n 1 -nfg 2 rma_pair       collocated
 *   mpiexec -n 2 rma_pair              between processes
 *   mpiexec.hydra -n 2 rma_pair_mpich  the host MPICH (built with mpicc.mpich)
 *
 * rma_pair create: the target's memory is its own (MPI_Win_create), not MPI_Win_allocate's.
 * rma_pair put N, rma_pair fetch N: N puts, or fetch-and-adds, each flushed, of 8 bytes only (for
 * counting instructions).
 *
 * Rank 1 waits in a barrier meanwhile. Beside: `lock xadd` on memory of the process, and memcpy in
 * it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRepeats = 100, kWindow = 64, kMost = 1 << 20 };
static int rank;
static MPI_Win win;
static char *mine, *target;

typedef void operation(int bytes);

static void put(int bytes) { MPI_Put(mine, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win); }
static void get(int bytes) { MPI_Get(mine, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win); }
static void sum(int bytes) {
  MPI_Accumulate(mine, bytes / 8, MPI_LONG, 1, 0, bytes / 8, MPI_LONG, MPI_SUM, win);
}
static void replace(int bytes) {
  MPI_Accumulate(mine, bytes / 8, MPI_LONG, 1, 0, bytes / 8, MPI_LONG, MPI_REPLACE, win);
}
static void fetch(int bytes) {
  (void)bytes;
  MPI_Fetch_and_op(mine, mine + 8, MPI_LONG, 1, 0, MPI_SUM, win);
}
static void swap(int bytes) {
  (void)bytes;
  MPI_Compare_and_swap(mine, mine + 8, mine + 16, MPI_LONG, 1, 0, win);
}
static void flushed_put(int bytes) {
  put(bytes);
  MPI_Win_flush(1, win);
}
static void flushed_get(int bytes) {
  get(bytes);
  MPI_Win_flush(1, win);
}
static void flushed_sum(int bytes) {
  sum(bytes);
  MPI_Win_flush(1, win);
}
static void flushed_replace(int bytes) {
  replace(bytes);
  MPI_Win_flush(1, win);
}
static void flushed_fetch(int bytes) {
  fetch(bytes);
  MPI_Win_flush(1, win);
}
static void flushed_swap(int bytes) {
  swap(bytes);
  MPI_Win_flush(1, win);
}
static void locked_put(int bytes) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
  put(bytes);
  MPI_Win_unlock(1, win);
}
static void window_of_puts(int bytes) {
  for (int i = 0; i < kWindow; i++)
    MPI_Put(mine, bytes, MPI_BYTE, 1, (MPI_Aint)i * bytes, bytes, MPI_BYTE, win);
  MPI_Win_flush(1, win);
}
static volatile long word;
static void bare_add(int bytes) {
  (void)bytes;
  __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
}
static void bare_copy(int bytes) {
  memcpy(mine + kMost, mine, bytes);
  __asm__ volatile("" ::: "memory");
}

/* Microseconds a call: the best of many short repeats, of which some are not interrupted on a busy
 * machine. */
static double time_of(operation* f, int bytes) {
  double best = 1e9, once;
  int count = 4;
  do {
    count *= 2;
    once = MPI_Wtime();
    for (int i = 0; i < count; i++) f(bytes);
    once = MPI_Wtime() - once;
  } while (once < 0.3e-3);
  for (int repeat = 0; repeat < kRepeats; repeat++) {
    double t = MPI_Wtime();
    for (int i = 0; i < count; i++) f(bytes);
    t = (MPI_Wtime() - t) / count * 1e6;
    if (t < best) best = t;
  }
  return best;
}

static void passive(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_lock_all(0, win);
    printf("%-34s %10.4f us\n", "lock xadd, bare", time_of(bare_add, 8));
    printf("%-34s %10.4f us\n", "put + flush, 8 B", time_of(flushed_put, 8));
    printf("%-34s %10.4f us\n", "get + flush, 8 B", time_of(flushed_get, 8));
    printf("%-34s %10.4f us\n", "fetch-and-add + flush", time_of(flushed_fetch, 8));
    printf("%-34s %10.4f us\n", "compare-and-swap + flush", time_of(flushed_swap, 8));
    printf("%-34s %10.4f us\n", "accumulate + flush, 8 B", time_of(flushed_sum, 8));
    printf("%-34s %10.4f us\n", "put in windows of 64, 8 B", time_of(window_of_puts, 8) / kWindow);
    for (int bytes = 1024; bytes <= kMost; bytes *= 8) {
      const double copy = time_of(bare_copy, bytes), to = time_of(flushed_put, bytes),
                   from = time_of(flushed_get, bytes), add = time_of(flushed_sum, bytes),
                   set = time_of(flushed_replace, bytes);
      printf("%8d B, MB/s: memcpy %.0f, put %.0f, get %.0f, accumulate sums %.0f, values %.0f\n",
             bytes, bytes / copy, bytes / to, bytes / from, bytes / add, bytes / set);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    printf("%8d B, MB/s, locked exclusively: accumulate sums %.0f\n", 65536,
           65536 / time_of(flushed_sum, 65536));
    MPI_Win_unlock(1, win);
    printf("%-34s %10.4f us\n", "lock + put + unlock, 8 B", time_of(locked_put, 8));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_Group other;
static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void fence(void) { MPI_Win_fence(0, win); }
static void fenced_put(void) {
  if (rank == 0) put(8);
  MPI_Win_fence(0, win);
}
static void handshake(void) {
  if (rank == 0) {
    MPI_Win_start(other, 0, win);
    put(8);
    MPI_Win_complete(win);
  } else {
    MPI_Win_post(other, 0, win);
    MPI_Win_wait(win);
  }
}

/* Microseconds a call of both ranks: the best of many short repeats. */
static double time_of_both(void (*f)(void)) {
  enum { kTimes = 20 };
  double best = 1e9;
  for (int repeat = 0; repeat < 4 * kRepeats; repeat++) {
    double t = MPI_Wtime();
    for (int i = 0; i < kTimes; i++) f();
    t = (MPI_Wtime() - t) / kTimes * 1e6;
    if (t < best) best = t;
  }
  return best;
}

static void active(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double plain = time_of_both(barrier);
  MPI_Win_fence(0, win);
  const double fences = time_of_both(fence), fenced = time_of_both(fenced_put);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Group all;
  int who = 1 - rank;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &who, &other);
  const double epochs = time_of_both(handshake);
  MPI_Group_free(&all);
  MPI_Group_free(&other);
  if (rank == 0) {
    printf("%-34s %10.4f us\n", "barrier", plain);
    printf("%-34s %10.4f us\n", "fence", fences);
    printf("%-34s %10.4f us\n", "put + fence, 8 B", fenced);
    printf("%-34s %10.4f us\n", "start + put + complete, 8 B", epochs);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int create = argc > 1 && !strcmp(argv[1], "create");
  // As a window's memory: how source and target lie to each other in their pages and lines changes
  // a copy's speed.
  if (posix_memalign((void**)&mine, 4096, 2 * kMost)) return 1;
  memset(mine, 1, 2 * kMost);
  if (create) {
    target = calloc(1, kMost);
    MPI_Win_create(target, kMost, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  } else {
    MPI_Win_allocate(kMost, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &target, &win);
    memset(target, 0, kMost);
  }
  if (argc > 2) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0, n = atoi(argv[2]); rank == 0 && i < n; i++)
      !strcmp(argv[1], "put") ? flushed_put(8) : flushed_fetch(8);
    MPI_Win_unlock_all(win);
  } else {
    passive();
    active();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  if (create) free(target);
  MPI_Finalize();
  return 0;
}
