/* A farm of workers: rank 0 hands out intervals, the others count the primes in them. Some
 * intervals take longer; nobody waits for a slow worker.
 *
 *   mpiexec -ranks 5001 farm */
#include <mpi.h>
#include <stdio.h>

enum { LAST = 2000000, INTERVAL = 100, WORK = 1, STOP = 2 };

static int primes_in(int from) {
  int count = 0;
  for (int n = from; n < from + INTERVAL; ++n) {
    int prime = n > 1;
    for (int d = 2; prime && d * d <= n; ++d) prime = n % d != 0;
    count += prime;
  }
  return count;
}

static int master(int workers) {
  int next = 0, busy = 0, total = 0;
  MPI_Status status;
  for (int w = 1; w <= workers; ++w) {
    MPI_Send(&next, 1, MPI_INT, w, next < LAST ? WORK : STOP, MPI_COMM_WORLD);
    if (next < LAST) ++busy, next += INTERVAL;
  }
  while (busy > 0) {
    int count;
    MPI_Recv(&count, 1, MPI_INT, MPI_ANY_SOURCE, WORK, MPI_COMM_WORLD, &status);
    total += count;
    MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, next < LAST ? WORK : STOP, MPI_COMM_WORLD);
    if (next < LAST)
      next += INTERVAL;
    else
      --busy;
  }
  return total;
}

static void worker(void) {
  for (;;) {
    int from, count;
    MPI_Status status;
    MPI_Recv(&from, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == STOP) return;
    count = primes_in(from);
    MPI_Send(&count, 1, MPI_INT, 0, WORK, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  int rank, size, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank > 0) {
    worker();
  } else if (size > 1) {
    int total = master(size - 1);
    wrong = total != 148933; /* the primes below two million */
    printf("%d workers: %d primes below %d: %s\n", size - 1, total, LAST,
           wrong ? "WRONG" : "right");
  }
  MPI_Finalize();
  return wrong;
}
