/* Ranks that go from process to process (FGMPI_BALANCE): a ring of messages and an allreduce a step, whose results do not depend on
 * where ranks are. With an argument, ranks must have been in several processes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kSteps = 200, kWords = 300 };

static void check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "FAILED: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, elsewhere = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const pid_t home = (pid_t)syscall(SYS_getpid);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  static int out[kWords], in[kWords];
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kWords; ++i) out[i] = rank * 1000000 + step * 1000 + i;
    MPI_Request requests[2];
    MPI_Irecv(in, kWords, MPI_INT, left, step, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, kWords, MPI_INT, right, step, MPI_COMM_WORLD, &requests[1]);
    elsewhere += (pid_t)syscall(SYS_getpid) != home;
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kWords; ++i)
      check(in[i] == left * 1000000 + step * 1000 + i, "what the left neighbour sends");
    long sum = 0, mine = rank + step;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    check(sum == (long)size * step + (long)size * (size - 1) / 2, "the sum of all ranks");
    elsewhere += (pid_t)syscall(SYS_getpid) != home;
  }
  int all = 0;
  MPI_Allreduce(&elsewhere, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (argc > 1) check(all > 0, "no rank has been in another process");
  MPI_Finalize();
  check((pid_t)syscall(SYS_getpid) == home, "MPI_Finalize returns at home");
  if (rank == 0) printf("calls elsewhere: %d\n", all);
  return 0;
}
