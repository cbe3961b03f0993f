/* What signals do is the program's and this library's matter: libraries that the network brings
 * along change nothing of it, neither when MPI starts nor when the first messages pass. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>

#include "mpitest.h"

static struct sigaction before[NSIG];

static void compare(const char* when) {
  for (int s = 1; s < NSIG; ++s) {
    struct sigaction now;
    if (sigaction(s, NULL, &now)) continue;
    if (now.sa_sigaction != before[s].sa_sigaction)
      printf("signal %d is handled by another, %s\n", s, when);
    CHECK(now.sa_sigaction == before[s].sa_sigaction);
    CHECK(!((now.sa_flags ^ before[s].sa_flags) &
            (SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER)));
  }
}

int main(int argc, char** argv) {
  int rank, size, got = -1;
  for (int s = 1; s < NSIG; ++s) sigaction(s, NULL, &before[s]);
  OK(MPI_Init(&argc, &argv));
  compare("after MPI_Init");
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
                  (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(got == (rank + size - 1) % size);
  compare("after messages");
  return finish();
}
