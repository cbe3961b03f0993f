/* What a job does about SIGUSR1, for sigusr1.sh, which sends it.
 *   notified [handler | blocked | calls]
 * Says "pid ID" and works for a second. With "handler" it handles the signal itself, with "blocked"
 * it takes it by sigtimedwait(); both fail if it never came. With "calls" ranks are in system calls
 * that a signal would end early, and fail if one does. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "mpitest.h"

static volatile sig_atomic_t caught = 0;
static void on_signal(int number) { caught = number; }

/* Which call depends on the rank: sleep, poll, read or pause. */
static void stay_in_calls(void) {
  int rank, pipe_[2];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(pipe(pipe_) == 0);
  struct pollfd files = {pipe_[0], POLLIN, 0};
  char byte;
  if (rank % 4 == 0) CHECK(sleep(2) == 0);
  if (rank % 4 == 1) CHECK(poll(&files, 1, 1500) == 0);
  if (rank % 4 == 2) {
    if (fork() == 0) {
      sleep(2);
      _exit(write(pipe_[1], "x", 1) != 1);
    }
    CHECK(read(pipe_[0], &byte, 1) == 1);
  }
  if (rank % 4 == 3) {
    signal(SIGALRM, on_signal);
    alarm(2);
    pause();
    CHECK(caught == SIGALRM);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void take_blocked(void) {
  const struct timespec second = {2, 0};
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  CHECK(sigtimedwait(&set, NULL, &second) == SIGUSR1);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  int handles = !strcmp(how, "handler");
  if (handles) signal(SIGUSR1, on_signal);
  if (!strcmp(how, "blocked")) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
  }
  MPI_Init(&argc, &argv);
  printf("pid %d\n", (int)getpid());
  fflush(stdout);
  if (!strcmp(how, "calls")) stay_in_calls();
  if (!strcmp(how, "blocked")) take_blocked();
  for (double end = MPI_Wtime() + 1.5; MPI_Wtime() < end; usleep(1000))
    OK(MPI_Barrier(MPI_COMM_SELF));
  if (handles) CHECK(caught == SIGUSR1);
  return finish();
}
