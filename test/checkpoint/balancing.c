/* Steps of computing, messages to neighbours and a sum (mpiexec -balance). The result depends on what all ranks compute, but not on
 * where. Arguments: how many times as much the first half of the ranks computes; steps. Prints the result, and how many ranks were
 * not at home, on average. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kUnit = 150000, kWords = 100 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 1);
  const long units = rank < size / 2 ? atol(argv[1]) : 1;
  const int steps = atoi(argv[2]), left = (rank + size - 1) % size, right = (rank + 1) % size;
  const pid_t home = (pid_t)syscall(SYS_getpid);
  long away = 0, all_away = 0;
  static uint64_t out[kWords], in[kWords];
  uint64_t state = (uint64_t)rank, sum = 0;
  for (int step = 0; step < steps; ++step) {
    for (long i = 0; i < units * kUnit; ++i)
      state = state * 6364136223846793005u + 1442695040888963407u;
    for (int i = 0; i < kWords; ++i) out[i] = state ^ (uint64_t)i;
    MPI_Request requests[2];
    MPI_Irecv(in, kWords, MPI_UINT64_T, left, step, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, kWords, MPI_UINT64_T, right, step, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kWords; ++i) state += in[i] * (uint64_t)(i + 1);
    MPI_Allreduce(&state, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    state ^= sum;
    away += (pid_t)syscall(SYS_getpid) != home;
  }
  MPI_Reduce(&away, &all_away, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("result %016llx\naway %.2f\n", (unsigned long long)sum, (double)all_away / steps);
  MPI_Finalize();
  return 0;
}
