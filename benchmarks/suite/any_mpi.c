/* What a job of any MPI library costs, for the suite: memory a rank, barrier, allreduce, split and
 * duplicate; how many communicators there can be; whether a deadlock ends.
 *
 *   any_mpi hello                  nothing: the start and end of a job
 *   any_mpi scale SECONDS          memory and times, each measured for about SECONDS
 *   any_mpi communicators MOST     duplicates of the world until one fails, MOST at most
 *   any_mpi deadlock               each rank receives what nobody sends
 *
 * Output: lines `NAME<tab>VALUE<tab>UNIT`. Memory is what is resident in all processes after a
 * barrier, divided by the ranks. A time is the best of the batches that fit into SECONDS, each from
 * a barrier to the slowest rank's end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  int rank, size;
  double budget;
} Job;

static long resident_bytes(void) {
  long pages = 0, all;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file && fscanf(file, "%ld %ld", &all, &pages) != 2) pages = 0;
  if (file) fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

/* Ranks of one process stand side by side in the world, so a process begins where the number
 * changes. */
static void memory(Job job) {
  MPI_Barrier(MPI_COMM_WORLD);
  long mine[2] = {getpid(), resident_bytes()};
  long* all = job.rank == 0 ? malloc(sizeof mine * (size_t)job.size) : NULL;
  MPI_Gather(mine, 2, MPI_LONG, all, 2, MPI_LONG, 0, MPI_COMM_WORLD);
  if (job.rank != 0) return;
  double bytes = 0;
  for (int i = 0; i < job.size; i++)
    if (i == 0 || all[2 * i] != all[2 * i - 2]) bytes += (double)all[2 * i + 1];
  printf("memory a rank\t%.2f\tKiB\n", bytes / job.size / 1024);
  free(all);
}

static void barrier(Job job) {
  (void)job;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void allreduce(Job job) {
  double in = job.rank, out;
  MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void split(Job job) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, job.rank % 2, job.rank, &half);
  MPI_Comm_free(&half);
}
static void duplicate(Job job) {
  MPI_Comm copy;
  (void)job;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_free(&copy);
}

/* Seconds of `times` calls, as the slowest rank sees them. */
static double batch(Job job, void (*call)(Job), int times) {
  double slowest;
  MPI_Barrier(MPI_COMM_WORLD);
  double mine = MPI_Wtime();
  for (int i = 0; i < times; i++) call(job);
  mine = MPI_Wtime() - mine;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/* All ranks see the same times, so they agree on when to end. A call that takes longer than the
 * budget is made twice. */
static void time_of(Job job, const char* name, void (*call)(Job)) {
  double best = batch(job, call, 1), spent = best;
  const double once = best + 1e-7;
  const int times = once > job.budget / 20 ? 1 : (int)(job.budget / 20 / once) + 1;
  do {
    const double seconds = batch(job, call, times);
    spent += seconds;
    if (seconds / times < best) best = seconds / times;
  } while (spent < job.budget);
  if (job.rank == 0) printf("%s\t%.4f\tus\n", name, best * 1e6);
  fflush(stdout);
}

static void communicators(Job job, int most) {
  int made = 0;
  MPI_Comm copy;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  while (made < most && MPI_Comm_dup(MPI_COMM_WORLD, &copy) == MPI_SUCCESS) made++;
  if (job.rank == 0) printf("communicators\t%d\t\n", made);
}

int main(int argc, char** argv) {
  Job job;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  const char* what = argc > 1 ? argv[1] : "hello";
  if (strcmp(what, "scale") == 0) {
    job.budget = argc > 2 ? atof(argv[2]) : 0.5;
    memory(job);
    time_of(job, "barrier", barrier);
    time_of(job, "allreduce of 8 B", allreduce);
    time_of(job, "odd/even split", split);
    time_of(job, "duplicate", duplicate);
  } else if (strcmp(what, "communicators") == 0) {
    communicators(job, argc > 2 ? atoi(argv[2]) : 1000);
  } else if (strcmp(what, "deadlock") == 0) {
    MPI_Recv(&job, 1, MPI_INT, (job.rank + 1) % job.size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
