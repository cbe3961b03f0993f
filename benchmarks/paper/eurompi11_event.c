/* What recording an event costs (eurompi11_event.sh runs it with and without the tracker).
 *   eurompi11_event WHAT LOOPS     WHAT: test, sendrecv, isend, bcast, local
 * A loop is: test: MPI_Iprobe that finds nothing; sendrecv: MPI_Sendrecv with itself; isend:
 * MPI_Irecv, MPI_Isend to itself and MPI_Waitall; bcast: MPI_Bcast over MPI_COMM_SELF; local:
 * MPI_Comm_rank, which is not traced. Prints the processor time of a loop in nanoseconds, best of
 * ten parts. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void loop(const char* what, MPI_Comm comm) {
  int value = 1, got = 0, flag;
  MPI_Request requests[2];
  if (what[0] == 't') {
    MPI_Iprobe(0, 3, comm, &flag, MPI_STATUS_IGNORE);
  } else if (what[0] == 's') {
    MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
  } else if (what[0] == 'i') {
    MPI_Irecv(&got, 1, MPI_INT, 0, 1, comm, &requests[0]);
    MPI_Isend(&value, 1, MPI_INT, 0, 1, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else if (what[0] == 'b') {
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
  } else {
    MPI_Comm_rank(comm, &value);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* what = argc > 1 ? argv[1] : "test";
  const int loops = argc > 2 ? atoi(argv[2]) : 100000;
  double best = 1e18;
  for (int part = 0; part < 10; ++part) {
    const double start = cpu();
    for (int i = 0; i < loops / 10; ++i) loop(what, MPI_COMM_SELF);
    const double each = (cpu() - start) / (loops / 10);
    if (each < best) best = each;
  }
  printf("%.1f\n", best);
  MPI_Finalize();
  return 0;
}
