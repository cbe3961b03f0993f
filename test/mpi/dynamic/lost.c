/* One of two connected jobs is killed, ends in order, or aborts, while the other one waits for a
 * message of it:
 *   lost wait|go FILE kill|abort|end|disconnect */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "meeting.h"

int main(int argc, char** argv) {
  int rank, size;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  MPI_Init(&argc, &argv);
  CHECK(argc > 3);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const int waits = strcmp(argv[1], "wait") == 0;
  find_port(waits, argv[2], port);
  inter = meet(waits, port);
  int word = 1;
  OK(MPI_Barrier(inter));
  if (!waits) {
    if (strcmp(argv[3], "kill") == 0 && rank == size - 1) kill(getpid(), SIGKILL);
    if (strcmp(argv[3], "abort") == 0 && rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(argv[3], "kill") == 0 || strcmp(argv[3], "abort") == 0)
      OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  if (strcmp(argv[3], "disconnect") == 0) OK(MPI_Comm_disconnect(&inter));
  if (waits && strcmp(argv[3], "disconnect") != 0)
    OK(MPI_Recv(&word, 1, MPI_INT, 0, 77, inter, MPI_STATUS_IGNORE));
  if (waits && strcmp(argv[3], "disconnect") == 0)
    usleep(1500000); /* the other job has ended meanwhile */
  return finish();
}
