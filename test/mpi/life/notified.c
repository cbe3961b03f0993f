/* What a job does about SIGUSR1, for sigusr1.sh, which sends it.
 *   notified [handler]
 * Says "pid ID" and works for a second. With "handler" it handles the signal itself, and fails if it never came. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "mpitest.h"

static volatile sig_atomic_t caught = 0;
static void on_signal(int number) { caught = number; }

int main(int argc, char** argv) {
  int handles = argc > 1 && !strcmp(argv[1], "handler");
  if (handles) signal(SIGUSR1, on_signal);
  MPI_Init(&argc, &argv);
  printf("pid %d\n", (int)getpid());
  fflush(stdout);
  for (double end = MPI_Wtime() + 1.5; MPI_Wtime() < end; usleep(1000))
    OK(MPI_Barrier(MPI_COMM_SELF));
  if (handles) CHECK(caught == SIGUSR1);
  return finish();
}
