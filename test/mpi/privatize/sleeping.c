/* A rank that sleeps lets the others of its process run: 50 ranks that sleep 20 ms each take 20 ms,
 * not a second. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/select.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "mpitest.h"

static int turn; /* the rank's own: nobody else may change it */

enum { kShortly = 20 * 1000 * 1000 };
static const struct timespec shortly = {0, kShortly};

static int by_nanosleep(void) { return nanosleep(&shortly, NULL); }
static int by_usleep(void) { return usleep(kShortly / 1000); }
static int by_clock(void) { return clock_nanosleep(CLOCK_REALTIME, 0, &shortly, NULL); }
static int by_thrd_sleep(void) { return thrd_sleep(&shortly, NULL); }
static int by_poll(void) { return poll(NULL, 0, kShortly / 1000000); }
static int by_ppoll(void) { return ppoll(NULL, 0, &shortly, NULL); }
static int by_pselect(void) { return pselect(0, NULL, NULL, NULL, &shortly, NULL); }
static int by_deadline(void) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += kShortly;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}
static int by_select(void) {
  struct timeval time = {0, kShortly / 1000};
  int result = select(0, NULL, NULL, NULL, &time);
  CHECK(time.tv_sec == 0 && time.tv_usec == 0);
  return result;
}

/* All ranks sleep at once: from the first one's start to the last one's end. */
static void all_sleep(int (*way)(void), int size) {
  double start, end, first, last;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  start = MPI_Wtime();
  CHECK(way() == 0);
  end = MPI_Wtime();
  CHECK(end - start >= 0.019);
  OK(MPI_Allreduce(&start, &first, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD));
  OK(MPI_Allreduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  CHECK(last - first < 0.02 * size || size < 50);
}

int main(int argc, char** argv) {
  int size;
  pid_t pid = getpid();
  const struct timespec wrong = {0, 2000000000};
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  all_sleep(by_nanosleep, size);
  all_sleep(by_usleep, size);
  all_sleep(by_clock, size);
  all_sleep(by_deadline, size);
  all_sleep(by_thrd_sleep, size);
  all_sleep(by_poll, size);
  all_sleep(by_ppoll, size);
  all_sleep(by_select, size);
  all_sleep(by_pselect, size);
  CHECK(nanosleep(&wrong, NULL) == -1 && errno == EINVAL);
  CHECK(ppoll(NULL, 0, &wrong, NULL) == -1 && errno == EINVAL);
  CHECK(poll(NULL, 0, 0) == 0);
  for (turn = 0; turn < 100; ++turn) CHECK(sched_yield() == 0);
  CHECK(getpid() == pid);
  return finish();
}
