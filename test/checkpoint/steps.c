/* steps STEPS EVERY: a sum over all ranks and steps, a message around the ring and a communicator in each
 * step. Each 1/EVERY of the steps the program asks for a checkpoint itself; 0: never. */
#include <unistd.h>

#include "checkpoint.h"

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int steps = argc > 1 ? atoi(argv[1]) : 20, every = argc > 2 ? atoi(argv[2]) : 10;
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  long sum = 0, passed = rank;
  double* values = calloc(5000, sizeof *values);
  for (int step = 0; step < steps; ++step) {
    long own = (long)rank * step, all = 0, got = -1;
    MPI_Comm part;
    MPI_Request request;
    MPI_Irecv(&got, 1, MPI_LONG, left, step, MPI_COMM_WORLD, &request);
    MPI_Comm_split(MPI_COMM_WORLD, (rank + step) % 3, rank, &part);
    MPI_Send(&passed, 1, MPI_LONG, right, step, MPI_COMM_WORLD);
    usleep(2000);
    for (int i = 0; i < 5000; ++i) values[i] += i % 7 + step;
    MPI_Allreduce(&own, &all, 1, MPI_LONG, MPI_SUM, part);
    MPI_Comm_free(&part);
    MPI_Allreduce(&own, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    passed = got;
    sum += all;
    if (every > 0 && step % every == every - 1) checkpoint();
  }
  CHECK(sum == (long)size * (size - 1) / 2 * (steps * (steps - 1L) / 2));
  CHECK(passed == ((rank - steps) % size + size) % size);
  for (int i = 0; i < 5000; ++i)
    CHECK(values[i] == i % 7 * (double)steps + steps * (steps - 1.) / 2);
  free(values);
  return finish();
}
