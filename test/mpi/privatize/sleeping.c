/* A rank that sleeps lets the others of its process run: 50 ranks sleeping 20 ms each take 20 ms,
 * not a second. */
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "mpitest.h"

static int turn; /* the rank's own: nobody else may change it */

int main(int argc, char** argv) {
  int rank, size;
  double start, elapsed;
  struct timespec shortly = {0, 20 * 1000 * 1000}, until;
  pid_t pid = getpid();
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  start = MPI_Wtime();
  CHECK(nanosleep(&shortly, NULL) == 0);
  CHECK(usleep(20 * 1000) == 0);
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += 20 * 1000 * 1000;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
  elapsed = MPI_Wtime() - start;
  CHECK(elapsed >= 0.06);
  CHECK(elapsed < 0.06 * size || size < 50);
  for (turn = 0; turn < 100; ++turn) CHECK(sched_yield() == 0);
  CHECK(getpid() == pid);
  return finish();
}
