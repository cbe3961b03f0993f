// Whose message comes first depends on the time: ranks compute, sleep and poll for as long as a
// clock or a random number says. Prints the order in which rank 0 receives.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

static void compute_for(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) continue;
}

static void send_late(int rank, int round) {
  unsigned char chance[2];
  if (getrandom(chance, sizeof chance, 0) != sizeof chance) exit(3);
  if (chance[0] % 3 == 0) usleep(chance[1] * 8u);
  if (chance[0] % 3 == 1) compute_for(1e-6 * chance[1]);
  MPI_Send(&rank, 1, MPI_INT, 0, round, MPI_COMM_WORLD);
}

static int receive_polling(int round) {
  int value, done = 0, polls = 0;
  MPI_Request request;
  MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &request);
  const double start = MPI_Wtime();
  while (!done) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    ++polls;
    if (!done && MPI_Wtime() - start > 1e-4) MPI_Wait(&request, MPI_STATUS_IGNORE), done = 1;
  }
  printf("%d after %d polls\n", value, polls);
  return value;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 10;
  long sum = 0, total = 0;
  for (int round = 0; round < rounds; ++round) {
    if (rank > 0) send_late(rank, round);
    for (int i = 1; rank == 0 && i < size; ++i) {
      int value;
      if (i % 2)
        value = receive_polling(round);
      else
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      printf("round %d: %d\n", round, value);
      sum = 31 * sum + value;
    }
    MPI_Allreduce(&sum, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("total %ld\n", total);
  MPI_Finalize();
  return 0;
}
