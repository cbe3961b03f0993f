/* What the kernel has for a rank: signals that it blocks go on elsewhere, and strings of the environment that it holds; children,
 * timers and signals that wait are refused at once. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint.h"

extern char** environ;

static void refused(void) {
  int flag = -1;
  CHECK(MPIX_Checkpoint(MPI_COMM_WORLD, &flag) == MPI_SUCCESS && flag == MPIX_CHECKPOINT_NONE);
}

static void children(void) {
  pid_t child = -1;
  int status = -1;
  if (rank == size - 1) {
    child = fork();
    if (child == 0) {
      pause();
      _exit(1);
    }
    CHECK(child > 0);
  }
  refused();
  if (child > 0) kill(child, SIGKILL);
  refused(); /* nobody has waited for it */
  if (child > 0) CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

static void timers(void) {
  struct sigevent nothing = {.sigev_notify = SIGEV_NONE};
  timer_t timer;
  if (rank == 0) CHECK(timer_create(CLOCK_MONOTONIC, &nothing, &timer) == 0);
  refused();
  if (rank == 0) CHECK(timer_delete(timer) == 0);
}

static void signals(void) {
  sigset_t two, before, now;
  sigemptyset(&two);
  sigaddset(&two, SIGUSR1);
  sigaddset(&two, SIGALRM);
  sigprocmask(SIG_BLOCK, &two, &before);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) raise(SIGUSR1);
  refused();
  if (rank == 0) CHECK(sigtimedwait(&two, NULL, &(struct timespec){0, 0}) == SIGUSR1);
  checkpoint();
  sigprocmask(SIG_BLOCK, NULL, &now);
  CHECK(sigismember(&now, SIGUSR1) && sigismember(&now, SIGALRM) && !sigismember(&now, SIGHUP));
  MPI_Barrier(MPI_COMM_WORLD);
  sigprocmask(SIG_UNBLOCK, &two, NULL);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  char* const path = getenv("PATH");
  char* const copy = strdup(path);
  CHECK(getenv("PATH") == path && !getenv("PAT") && !getenv("PATHS"));
  children();
  timers();
  signals();
  CHECK(strcmp(path, copy) == 0 && getenv("PATH") == path);
  int found = 0;
  for (char** variable = environ; *variable; ++variable)
    found += strncmp(*variable, "PATH=", 5) == 0 && strcmp(*variable + 5, copy) == 0;
  CHECK(found == 1);
  MPI_Barrier(MPI_COMM_WORLD);
  setenv("PATH", "/elsewhere", 1); /* all ranks of a process see it */
  CHECK(strcmp(getenv("PATH"), "/elsewhere") == 0 && strcmp(path, copy) == 0);
  free(copy);
  return finish();
}
