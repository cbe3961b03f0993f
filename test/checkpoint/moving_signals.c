/* Signals to the number of a rank's process reach the handler of each of its ranks once, wherever these are by now; a signal that a
 * rank raises is its own; one that a process ignores when all its handlers are gone ends nothing. */
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "checkpoint.h"

enum { kRounds = 100 };
static volatile sig_atomic_t calls, raised;
static void count(int number) {
  (void)number;
  ++calls;
}
static void count_raised(int number) {
  (void)number;
  ++raised;
}

/* Calls at which a rank may move, until the handler has run so often. */
static void await_calls(int wanted) {
  for (int i = 0; calls < wanted && i < 1000000; ++i) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    if (i % 64 == 63) sched_yield();
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  struct sigaction action = {.sa_handler = count}, own = {.sa_handler = count_raised}, seen;
  const int home = getpid();
  int* homes = malloc((size_t)size * sizeof *homes);
  sigemptyset(&action.sa_mask);
  sigemptyset(&own.sa_mask);
  MPI_Allgather(&home, 1, MPI_INT, homes, 1, MPI_INT, MPI_COMM_WORLD);
  /* Some have their handler from the start, others get it when they may be elsewhere already. */
  if (rank % 2) CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  for (int i = 0; i < 20; ++i) MPI_Barrier(MPI_COMM_WORLD);
  if (rank % 2 == 0) CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  CHECK(sigaction(SIGUSR2, &own, NULL) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 1; round <= kRounds; ++round) {
    if (rank == round % size)
      for (int r = 0; r < size; ++r)
        if (r == 0 || homes[r] != homes[r - 1]) CHECK(kill(homes[r], SIGUSR1) == 0);
    await_calls(round);
    CHECK(getpid() == home);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(calls == round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (round % 3 == rank % 3) {
      const int before = raised;
      CHECK(raise(SIGUSR2) == 0 && raised == before + 1);
    }
  }
  CHECK(raised == (kRounds + 2 - (rank % 3 + 2) % 3) / 3 || size == 1);
  CHECK(sigaction(SIGUSR1, NULL, &seen) == 0 && seen.sa_handler == count);
  MPI_Barrier(MPI_COMM_WORLD);
  /* What a rank drops is dropped for its home, too. */
  CHECK(signal(SIGUSR1, SIG_IGN) == count);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(kill(home, SIGUSR1) == 0);
  for (int i = 0; i < 20; ++i) MPI_Barrier(MPI_COMM_WORLD);
  CHECK(calls == kRounds);
  free(homes);
  return finish();
}
