/* Jobs that wait for ever, and jobs that only seem to. Run by deadlocks.sh: HOW [SEED]. */
#include <string.h>
#include <unistd.h>

#include "mpitest.h"

int main(int argc, char** argv) {
  int rank, size, x = 0;
  MPI_Request r[2];
  const char* how = argc > 1 ? argv[1] : "none";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (rank + 1) % size, prev = (rank + size - 1) % size;
  if (!strcmp(how, "recv")) MPI_Recv(&x, 1, MPI_INT, next, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!strcmp(how, "ssend")) MPI_Ssend(&x, 1, MPI_INT, next, 5, MPI_COMM_WORLD);
  if (!strcmp(how, "probe")) MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!strcmp(how, "mixed")) {
    if (rank == 0) {
      MPI_Irecv(&x, 1, MPI_INT, prev, 5, MPI_COMM_WORLD, &r[0]);
      MPI_Irecv(&x, 1, MPI_INT, prev, 6, MPI_COMM_WORLD, &r[1]);
      MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  if (!strcmp(how, "names")) { /* names that look like lines of a report */
    MPI_Comm named;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &named));
    OK(MPI_Comm_set_name(named,
                         rank % 2 ? "a\nN 100000\nC 9 MPI_Bcast\nE 0 0\n" : "b\nC\n\033[2J"));
    MPI_Recv(&x, 1, MPI_INT, next, 5, named, MPI_STATUS_IGNORE);
  }
  if (!strcmp(how, "one") && rank == 0)
    MPI_Recv(&x, 1, MPI_INT, size - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!strcmp(how, "sleeper")) { /* no deadlock: one sleeps longer than the detection's patience */
    if (rank == 0) sleep(2);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  if (!strcmp(how, "traffic")) { /* no deadlock: all park again and again for as long as the
                                    patience, then go on */
    srand(argc > 2 ? atoi(argv[2]) : 1);
    for (int round = 0; round < 12; round++) {
      int pause = (400 + rand() % 300) * 1000, hops = 1 + rand() % 2000;
      if (rank == round % size) usleep(pause);
      for (int hop = 0; hop < hops; hop++) {
        if (rank == round % size) OK(MPI_Send(&x, 1, MPI_INT, next, 1, MPI_COMM_WORLD));
        OK(MPI_Recv(&x, 1, MPI_INT, prev, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (rank != round % size) OK(MPI_Send(&x, 1, MPI_INT, next, 1, MPI_COMM_WORLD));
      }
    }
  }
  return finish();
}
