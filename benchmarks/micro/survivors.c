/* mpiexec -ft: MPIX_Comm_agree beside an allreduce of 4 bytes and MPIX_Comm_shrink beside a
 * duplicate, before and after the last process is killed, the least of some times; and how long the
 * first agreement after the loss takes. One line each.
 *
 *   mpiexec -ft -n 2 -nfg 5000 survivors 5000      the argument: ranks a process */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { kTimes = 10 };

typedef enum { kAllreduce, kAgree, kDup, kShrink } What;
static const char* const kNames[] = {"allreduce", "agree", "dup", "shrink"};

/* Microseconds of the slowest rank. */
static double once(What what, MPI_Comm comm) {
  int flag = 1, sum;
  MPI_Comm made = MPI_COMM_NULL;
  double slowest;
  MPI_Barrier(comm);
  double t = MPI_Wtime();
  switch (what) {
    case kAllreduce:
      MPI_Allreduce(&flag, &sum, 1, MPI_INT, MPI_BAND, comm);
      break;
    case kAgree:
      MPIX_Comm_agree(comm, &flag);
      break;
    case kDup:
      MPI_Comm_dup(comm, &made);
      break;
    case kShrink:
      MPIX_Comm_shrink(comm, &made);
      break;
  }
  t = MPI_Wtime() - t;
  MPI_Allreduce(&t, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm);
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
  return slowest * 1e6;
}

static void measure(MPI_Comm comm) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (What what = kAllreduce; what <= kShrink; what++) {
    double least = once(what, comm);
    for (int i = 1; i < kTimes; i++) {
      const double now = once(what, comm);
      if (now < least) least = now;
    }
    if (rank == 0) printf("%8d ranks  %-9s %10.0f us\n", size, kNames[what], least);
  }
}

int main(int argc, char** argv) {
  int rank, size, flag = 1;
  MPI_Comm left;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int ranks = argc > 1 ? atoi(argv[1]) : 0;
  if (ranks < 1 || size % ranks || size == ranks) {
    if (rank == 0)
      fprintf(
          stderr,
          "Usage: mpiexec -ft -n PROCESSES -nfg RANKS survivors RANKS, at least two processes\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  measure(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - ranks) raise(SIGKILL);
  if (rank >= size - ranks) MPI_Recv(NULL, 0, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  double t = MPI_Wtime();
  MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
  t = MPI_Wtime() - t;
  if (rank == 0) printf("after the loss: first agree %.0f us", t * 1e6);
  t = MPI_Wtime();
  MPIX_Comm_shrink(MPI_COMM_WORLD, &left);
  t = MPI_Wtime() - t;
  if (rank == 0) printf(", shrink %.0f us\n", t * 1e6);
  measure(left);
  MPI_Finalize();
  return 0;
}
