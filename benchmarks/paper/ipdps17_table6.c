/* IPDPS'17 Table VI: message issue rate on the world and on generations 1 to 4 of odd/even splits
 * of it.
 *
 *   mpiexec -n 1 -nfg 64 ipdps17_table6
 *
 * Rank 0 of each communicator issues sends of 8 bytes to rank 1, which has posted the receives;
 * both live in one process, so that no network is in the way (the paper's theoretical network). The
 * rate must not fall from generation to generation: a map is composed with its parent's, never
 * looked up through it. A rate is that of the median of 400 rounds, so that those in which another
 * program has the processor do not count. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBatch = 500, kRounds = 400 };

static int by_value(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double rate(MPI_Comm comm) {
  int rank, size;
  MPI_Request r[kBatch];
  long values[kBatch];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  double issue[kRounds] = {0};
  for (int k = 0; k < kRounds && rank < 2; ++k) {
    for (int i = 0; i < kBatch; ++i) values[i] = i;
    if (rank == 1)
      for (int i = 0; i < kBatch; ++i) MPI_Irecv(&values[i], 1, MPI_LONG, 0, 0, comm, &r[i]);
    char token = 0; /* the receives are posted */
    if (rank == 1) MPI_Send(&token, 1, MPI_CHAR, 0, 1, comm);
    if (rank == 0) {
      MPI_Recv(&token, 1, MPI_CHAR, 1, 1, comm, MPI_STATUS_IGNORE);
      double t = MPI_Wtime();
      for (int i = 0; i < kBatch; ++i) MPI_Isend(&values[i], 1, MPI_LONG, 1, 0, comm, &r[i]);
      issue[k] = MPI_Wtime() - t;
    }
    MPI_Status statuses[kBatch];
    MPI_Waitall(kBatch, r, statuses);
  }
  qsort(issue, kRounds, sizeof issue[0], by_value);
  return issue[kRounds / 2] > 0 ? kBatch / issue[kRounds / 2] / 1e6 : 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm = MPI_COMM_WORLD, next;
  int world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  for (int generation = 0; generation <= 4 && comm != MPI_COMM_NULL; ++generation) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (size < 2) break;
    rate(comm);
    double r = rate(comm);
    if (world == 0)
      printf("%-16s %8d ranks  %8.2f million messages/s issued\n",
             generation ? "generation" : "MPI_COMM_WORLD", size, r);
    MPI_Comm_split(comm, rank % 2 == 0 ? 0 : MPI_UNDEFINED, rank, &next);
    if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
    comm = next;
  }
  MPI_Finalize();
  return 0;
}
