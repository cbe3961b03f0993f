/* Ranks with unequal work, for balance.py.
 *
 *   balance KIND STEPS UNIT      UNIT: iterations of a unit of work
 *
 * Each step every rank computes its part and then communicates. Where a rank has computed is known by the process id, so that the
 * work of each process in each step can be added up in the end. Rank 0 prints, in units of work:
 *   bound       the sum of all work, divided by the number of processes
 *   makespan    the sum over the steps of the largest work of a process in the step
 * and in seconds of processor time, from the kernel's counts of each process:
 *   busiest, all    the most of a process, and the sum; everything counts that is done from the first step to the last
 *   wall            the time that has passed
 * and how many ranks were not where they had begun, on average, and a sum that does not depend on where ranks compute.
 *
 * Kinds with unequal work: apart (the first half of the ranks has four times the work), halo (the same, with neighbours that exchange
 * messages), wander (a peak of work goes round), sudden (an eighth of the ranks has eight times the work from the middle of the run
 * on), corner (the work of a quarter of the ranks doubles four times), farm (rank 0 hands out tasks and computes as much).
 * Kinds with equal work: those of even_ and a word, by what the ranks do in each step. */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int rank, size, steps, processes, *pids;
static long unit;
static double* work_of; /* [step][process] */
static uint64_t state;
static long away;

static void compute(double units, int step) {
  const long n = (long)(units * unit);
  uint64_t x = state;
  for (long i = 0; i < n; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  state = x;
  const int pid = (pid_t)syscall(SYS_getpid);
  for (int p = 0; p < processes; ++p)
    if (pids[p] == pid) work_of[(size_t)step * processes + p] += units;
}

/* ---- Work of a step, in units */
static double work(const char* kind, int step) {
  if (!strcmp(kind, "apart") || !strcmp(kind, "halo")) return rank < size / 2 ? 4 : 1;
  if (!strcmp(kind, "wander")) {
    double d = fabs(rank - fmod(2.0 * step * size / steps, size));
    if (d > size / 2.0) d = size - d;
    return 0.5 + 6 * exp(-d * d / (size * size / 128.0));
  }
  if (!strcmp(kind, "sudden")) return step >= steps / 2 && rank < size / 8 ? 8 : 1;
  if (!strcmp(kind, "corner")) {
    int side = 1;
    while (side * side < size) ++side;
    const int inside = rank % side < side / 2 && rank / side < side / 2;
    return inside ? pow(2, 4 * step / steps) : 1;
  }
  return 1;
}

/* ---- What ranks do in a step */
static void exchange(int distance, int words) {
  static double out[2][4096], in[2][4096];
  MPI_Request r[4];
  const int left = (rank + size - distance) % size, right = (rank + distance) % size;
  MPI_Irecv(in[0], words, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &r[0]);
  MPI_Irecv(in[1], words, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &r[1]);
  MPI_Isend(out[0], words, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &r[2]);
  MPI_Isend(out[1], words, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &r[3]);
  MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

static void communicate(const char* kind, int step) {
  static double a[4096], b[4096];
  if (!strcmp(kind, "halo") || !strcmp(kind, "even_halo")) return exchange(1, 1024);
  if (!strcmp(kind, "even_far")) return exchange(size / 2, 1024);
  if (!strcmp(kind, "even_ring")) {
    MPI_Sendrecv(a, 512, MPI_DOUBLE, (rank + 1) % size, 0, b, 512, MPI_DOUBLE,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (!strcmp(kind, "even_barrier")) {
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (!strcmp(kind, "even_bcast")) {
    MPI_Bcast(a, 4096, MPI_DOUBLE, step % size, MPI_COMM_WORLD);
  } else if (!strcmp(kind, "even_alltoall")) {
    MPI_Alltoall(a, 4096 / size, MPI_DOUBLE, b, 4096 / size, MPI_DOUBLE, MPI_COMM_WORLD);
  } else if (!strcmp(kind, "even_gather")) {
    MPI_Gather(a, 4096 / size, MPI_DOUBLE, b, 4096 / size, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  } else if (!strcmp(kind, "even_scan")) {
    MPI_Scan(a, b, 64, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  } else if (!strcmp(kind, "even_pairs")) {
    for (int i = 0; i < 8; ++i)
      if (rank % 2 == 0 && rank + 1 < size) {
        MPI_Send(a, 16, MPI_DOUBLE, rank + 1, i, MPI_COMM_WORLD);
        MPI_Recv(b, 16, MPI_DOUBLE, rank + 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else if (rank % 2) {
        MPI_Recv(b, 16, MPI_DOUBLE, rank - 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(a, 16, MPI_DOUBLE, rank - 1, i, MPI_COMM_WORLD);
      }
  } else if (!strcmp(kind, "even_mixed")) {
    exchange(1, 256);
    double most;
    MPI_Allreduce(a, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  } else { /* also apart, wander, sudden, corner, even_allreduce */
    double mine = 1, sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (sum != size) MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/* A task for each step and rank but the first, which computes one whenever it has handed out one for each other rank. */
static void farm(void) {
  const int tasks = steps * (size - 1);
  int task = 0, answer;
  MPI_Status status;
  if (rank > 0) {
    for (;;) {
      MPI_Sendrecv(&task, 1, MPI_INT, 0, 0, &answer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      if (answer < 0) return;
      compute(0.5 + (answer * 37 % 64) / 64.0, 0);
    }
  }
  for (int ended = 0; ended < size - 1; ++task) {
    MPI_Recv(&answer, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
    answer = task < tasks ? task : -1;
    ended += answer < 0;
    MPI_Send(&answer, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
    if (task % (size - 1) == 0) compute(4, 0);
  }
}

static double processor_time(int pid) {
  clockid_t clock;
  struct timespec t;
  if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t)) return 0;
  return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 1);
  const char* const kind = argv[1];
  steps = atoi(argv[2]), unit = atol(argv[3]);
  const int home = (pid_t)syscall(SYS_getpid);
  pids = malloc(sizeof *pids * size);
  MPI_Allgather(&home, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r)
    if (!processes || pids[processes - 1] != pids[r]) pids[processes++] = pids[r];
  const int rows = strcmp(kind, "farm") ? steps : 1;
  work_of = calloc((size_t)rows * processes, sizeof *work_of);
  state = rank + 1;
  double *before = calloc(processes, sizeof *before), start = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    for (int p = 0; p < processes; ++p) before[p] = processor_time(pids[p]);
  start = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(kind, "farm")) {
    farm();
  } else {
    for (int step = 0; step < steps; ++step) {
      compute(work(kind, step), step);
      communicate(kind, step);
      away += (pid_t)syscall(SYS_getpid) != home;
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  double busiest = 0, all = 0, bound = 0, makespan = 0;
  const double wall = MPI_Wtime() - start;
  if (rank == 0)
    for (int p = 0; p < processes; ++p) {
      const double used = processor_time(pids[p]) - before[p];
      all += used;
      if (used > busiest) busiest = used;
    }
  double* sums = calloc((size_t)rows * processes, sizeof *sums);
  long all_away = 0;
  uint64_t check = 0;
  MPI_Reduce(work_of, sums, rows * processes, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&away, &all_away, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (!strcmp(kind, "farm")) state = 0; /* who computes which task is not determined */
  MPI_Reduce(&state, &check, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int s = 0; s < rows; ++s) {
      double most = 0;
      for (int p = 0; p < processes; ++p) {
        const double w = sums[(size_t)s * processes + p];
        bound += w / processes;
        if (w > most) most = w;
      }
      makespan += most;
    }
    printf("bound %.1f makespan %.1f busiest %.3f all %.3f wall %.3f away %.1f sum %016llx\n",
           bound, makespan, busiest, all, wall, (double)all_away / rows, (unsigned long long)check);
  }
  MPI_Finalize();
  return 0;
}
