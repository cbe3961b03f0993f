/* What the C library tells a rank of its process, while ranks go from process to process (FGMPI_BALANCE): its number stays, and
 * its processor time does not go back. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "FAILED: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double cpu_seconds(void) {
  struct timespec t;
  check(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0, "clock_gettime");
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
static double seconds_of(struct timeval t) { return t.tv_sec + 1e-6 * t.tv_usec; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, elsewhere = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const pid_t home = getpid(), first = (pid_t)syscall(SYS_getpid);
  check(home == first, "before it moves, a rank has the number of its process");
  double cpu = cpu_seconds(), user = 0, system = 0;
  clock_t ticks = clock(), tens = 0;
  volatile double sum = 0;
  for (int step = 0; step < 200; ++step) {
    /* Ranks use different amounts, so processes do. */
    for (int i = 0; i < 2000 * (rank + 1); ++i) sum = sum + 1.0 / (i + 1);
    MPI_Send(NULL, 0, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    elsewhere += (pid_t)syscall(SYS_getpid) != first;
    check(getpid() == home, "getpid() answers the same at all times");
    check(kill(getpid(), 0) == 0, "a signal can be sent to that process");
    const double now = cpu_seconds();
    check(now >= cpu, "CLOCK_PROCESS_CPUTIME_ID does not go back");
    cpu = now;
    const clock_t next = clock();
    check(next >= ticks && next >= 0, "clock() does not go back");
    ticks = next;
    struct rusage used;
    check(getrusage(RUSAGE_SELF, &used) == 0, "getrusage");
    check(seconds_of(used.ru_utime) >= user - 2e-6 && seconds_of(used.ru_stime) >= system - 2e-6,
          "getrusage() does not go back");
    user = seconds_of(used.ru_utime), system = seconds_of(used.ru_stime);
    struct tms parts;
    check(times(&parts) != (clock_t)-1, "times");
    check(parts.tms_utime + parts.tms_stime >= tens - 1, "times() does not go back");
    tens = parts.tms_utime + parts.tms_stime;
  }
  const pid_t child = fork();
  if (child == 0) _exit(getpid() == (pid_t)syscall(SYS_getpid) ? 0 : 1);
  int status = 1;
  check(child > 0 && waitpid(child, &status, 0) == child && status == 0,
        "a child has a number of its own");
  MPI_Allreduce(&elsewhere, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (argc > 1) check(all > 0, "no rank has been in another process");
  MPI_Finalize();
  if (rank == 0) printf(" No Errors\n");
  return 0;
}
