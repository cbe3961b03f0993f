/* Each rank has handlers of its own: a signal of the process calls those of all its ranks, what a
 * rank raises only its own. */
#define _GNU_SOURCE
#include "outside.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static MPI_Comm here; /* the ranks of this process */
static int rank, ranks;
static volatile sig_atomic_t calls, other_calls;
static sigjmp_buf back;

static void handler(int number) {
  (void)number;
  ++calls;
}
static void other_handler(int number) {
  (void)number;
  ++other_calls;
}
static void handler_that_installs(int number) {
  ++calls;
  signal(number, other_handler);
}
static void leave(int number) {
  (void)number;
  siglongjmp(back, 1);
}

static void call_for_all(int number) {
  MPI_Barrier(here);
  if (rank == 0) kill(getpid(), number);
  MPI_Barrier(here);
}

static void installed_by_each(void) {
  struct sigaction action = {.sa_handler = handler}, before;
  calls = 0;
  CHECK(sigaction(SIGPROF, NULL, &before) == 0 && before.sa_handler == SIG_DFL);
  /* All but the second rank. */
  if (rank != 1) CHECK(sigaction(SIGPROF, &action, &before) == 0 && before.sa_handler == SIG_DFL);
  if (rank == 2) CHECK(signal(SIGPROF, other_handler) == handler);
  CHECK(sigaction(SIGPROF, NULL, &before) == 0);
  CHECK(before.sa_handler == (rank == 1 ? SIG_DFL : rank == 2 ? other_handler : handler));
  call_for_all(SIGPROF);
  CHECK(calls == (rank != 1 && rank != 2) && other_calls == (rank == 2));
  /* One rank ignores the signal, the others still have it. */
  if (rank == 1) CHECK(signal(SIGPROF, SIG_IGN) == SIG_DFL);
  call_for_all(SIGPROF);
  CHECK(calls == 2 * (rank != 1 && rank != 2) && other_calls == 2 * (rank == 2));
  signal(SIGPROF, SIG_IGN);
  call_for_all(SIGPROF);
  CHECK(calls == 2 * (rank != 1 && rank != 2) && other_calls == 2 * (rank == 2));
  CHECK(signal(SIGPROF, SIG_DFL) == SIG_IGN);
  MPI_Barrier(here);
}

static void raised(void) {
  calls = other_calls = 0;
  CHECK(signal(SIGUSR2, rank % 2 ? handler : other_handler) == SIG_DFL);
  MPI_Barrier(here);
  for (int i = 0; i <= rank % 3; ++i) raise(SIGUSR2);
  MPI_Barrier(here);
  CHECK(calls == (rank % 2 ? rank % 3 + 1 : 0) && other_calls == (rank % 2 ? 0 : rank % 3 + 1));
  /* A rank that ignores it, among others that do not. */
  if (rank == 0) CHECK(signal(SIGUSR2, SIG_IGN) == other_handler);
  calls = 0;
  raise(SIGUSR2);
  CHECK(calls == rank % 2);
  /* Once only, and what a handler installs is its rank's. */
  struct sigaction once = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND}, now;
  CHECK(sigaction(SIGUSR2, &once, NULL) == 0);
  raise(SIGUSR2);
  CHECK(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
  CHECK(signal(SIGUSR2, handler_that_installs) == SIG_DFL);
  calls = other_calls = 0;
  call_for_all(SIGUSR2);
  CHECK(calls == 1 && other_calls == 0);
  call_for_all(SIGUSR2);
  CHECK(calls == 1 && other_calls == 1);
  signal(SIGUSR2, SIG_DFL);
  /* Left by siglongjmp(): the rank's own stack. */
  signal(SIGUSR2, leave);
  if (sigsetjmp(back, 1) == 0) {
    raise(SIGUSR2);
    CHECK(!"left");
  }
  signal(SIGUSR2, SIG_DFL);
}

/* A fault is handled by the rank that has made it. */
static void faults(void) {
  char* page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void (*before)(int) = signal(SIGSEGV, leave);
  MPI_Barrier(here);
  if (sigsetjmp(back, 1) == 0) {
    *(volatile char*)page = 1;
    CHECK(!"left");
  }
  MPI_Barrier(here);
  signal(SIGSEGV, before);
  munmap(page, 1);
}

/* A child has the handlers of the rank that has made it. */
static void children(void) {
  signal(SIGPROF, handler);
  MPI_Barrier(here);
  calls = 0;
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGPROF);
    kill(getpid(), SIGPROF);
    _exit(calls == 2 ? 0 : 10 + calls);
  }
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(status == 0 && calls == 0);
  MPI_Barrier(here);
  signal(SIGPROF, SIG_DFL);
}

/* Alarms are the process's, their handlers are not. A rank without a handler is not interrupted. */
static void alarms(void) {
  calls = 0;
  if (rank % 2 == 0) {
    signal(SIGALRM, handler);
    MPI_Barrier(here);
    if (rank == 0) ualarm(2000, 0);
    while (!calls) usleep(500);
    CHECK(calls == 1);
  } else {
    MPI_Barrier(here);
    const struct timespec duration = {0, 10000000};
    CHECK(nanosleep(&duration, NULL) == 0);
    CHECK(usleep(10000) == 0);
  }
  MPI_Barrier(here);
  signal(SIGALRM, SIG_DFL);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_split(MPI_COMM_WORLD, (int)getpid(), me, &here);
  MPI_Comm_rank(here, &rank);
  MPI_Comm_size(here, &ranks);
  installed_by_each();
  raised();
  faults();
  children();
  alarms();
  MPI_Comm_free(&here);
  return end();
}
