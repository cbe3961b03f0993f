/* A ring whose first half computes much longer, so that ranks move (mpiexec -balance): moving STEPS TIMES. In each step a rank sends to
 * its right neighbour: 100 bytes in MPI_COMM_WORLD, and 8 bytes in a copy of it whose ranks are in reverse order; a reduction of 8 bytes
 * ends the step. A persistent send of 40 bytes, started twice by each rank, comes at the end. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kUnit = 100000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, reverse;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int steps = atoi(argv[1]), times = rank < size / 2 ? atoi(argv[2]) : 1;
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Comm turned;
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &turned);
  MPI_Comm_rank(turned, &reverse);
  char out[100] = {0}, in[100];
  uint64_t state = (uint64_t)rank, sum = 0, other = 0;
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < times * kUnit; ++i)
      state = state * 6364136223846793005u + 1442695040888963407u;
    MPI_Request requests[2];
    MPI_Irecv(in, 100, MPI_CHAR, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 100, MPI_CHAR, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    /* In `turned` the right neighbour has the rank below. */
    MPI_Sendrecv(&state, 1, MPI_UINT64_T, (reverse + size - 1) % size, 2, &other, 1, MPI_UINT64_T,
                 (reverse + 1) % size, 2, turned, MPI_STATUS_IGNORE);
    state += other;
    MPI_Allreduce(&state, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Request persistent;
  MPI_Send_init(out, 40, MPI_CHAR, right, 3, MPI_COMM_WORLD, &persistent);
  for (int i = 0; i < 2; ++i) {
    MPI_Start(&persistent);
    MPI_Recv(in, 40, MPI_CHAR, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&persistent);
  MPI_Comm_free(&turned);
  if (rank == 0) printf("result %016llx\n", (unsigned long long)sum);
  if (argc > 3)
    MPI_Recv(in, 1, MPI_CHAR, right, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* a deadlock */
  return MPI_Finalize();
}
