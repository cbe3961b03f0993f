/* Every rank sleeps for ever, in one of several ways; sleeps_for_ever.sh looks at what that
 * costs. */
#define _GNU_SOURCE
#include <limits.h>
#include <sys/select.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "mpitest.h"

int main(int argc, char** argv) {
  const struct timespec longest = {LONG_MAX, 999999999}, long_enough = {LONG_MAX / 1000000000, 0};
  struct timeval days = {LONG_MAX, 999999};
  int rank;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  printf("sleeps %d\n", rank);
  fflush(stdout);
  switch (rank % 5) {
    case 0:
      nanosleep(&longest, NULL);
      break;
    case 1:
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &longest, NULL);
      break;
    case 2:
      select(0, NULL, NULL, NULL, &days);
      break;
    case 3:
      thrd_sleep(&long_enough, NULL);
      break;
    default:
      sleep(UINT_MAX);
  }
  printf("woke %d\n", rank);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}
