/* A token that goes around all ranks, each of which polls for it by MPI_Test and does nothing else.
 *   poll_token [ROUNDS]   (200)
 * Prints the time of a hop, mean and that of the fastest round, and polls for each hop. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 200;
  int rank, size, token = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  double best = 1e9, sum = 0;
  unsigned long long polls = 0, all;
  for (int i = 0; i < rounds; i++) {
    const double start = MPI_Wtime();
    MPI_Request request;
    int come = 0;
    if (rank == 0) MPI_Send(&token, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    MPI_Irecv(&token, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &request);
    for (; !come; polls++) MPI_Test(&request, &come, MPI_STATUS_IGNORE);
    if (rank != 0) MPI_Send(&token, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - start;
    if (seconds < best) best = seconds;
    sum += seconds;
  }
  MPI_Reduce(&polls, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d ranks: %.2f us a hop, %.2f in the fastest round, %.1f polls\n", size,
           sum / rounds / size * 1e6, best / size * 1e6, (double)all / rounds / size);
  MPI_Finalize();
  return 0;
}
