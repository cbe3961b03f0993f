/* A task farm: rank 0 hands out tasks to whoever asks and collects results of varying length. */
#include "mpitest.h"

enum { kTasks = 500, kAsk = 1, kResult = 2, kTask = 3, kStop = 4 };

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (rank == 0) {
    int next = 0, stopped = 0, results = 0;
    long sum = 0;
    while (stopped < size - 1 || (results < next)) {
      MPI_Status status;
      int count, buffer[64];
      OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      OK(MPI_Get_count(&status, MPI_INT, &count));
      CHECK(count <= 64);
      OK(MPI_Recv(buffer, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
      if (status.MPI_TAG == kResult) {
        ++results;
        CHECK(count == 1 + buffer[0] % 64);
        for (int i = 1; i < count; ++i) {
          CHECK(buffer[i] == buffer[0] * i);
          sum += buffer[i];
        }
        continue;
      }
      CHECK(status.MPI_TAG == kAsk && count == 0);
      if (next < kTasks) {
        OK(MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, kTask, MPI_COMM_WORLD));
        ++next;
      } else {
        OK(MPI_Send(NULL, 0, MPI_INT, status.MPI_SOURCE, kStop, MPI_COMM_WORLD));
        ++stopped;
      }
    }
    long expected = 0;
    for (int t = 0; t < next; ++t)
      for (int i = 1; i < 1 + t % 64; ++i) expected += (long)t * i;
    CHECK(size == 1 || next == kTasks);
    CHECK(sum == expected);
  } else {
    for (;;) {
      MPI_Status status;
      int task, buffer[64];
      OK(MPI_Send(NULL, 0, MPI_INT, 0, kAsk, MPI_COMM_WORLD));
      OK(MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      if (status.MPI_TAG == kStop) break;
      buffer[0] = task;
      for (int i = 1; i < 1 + task % 64; ++i) buffer[i] = task * i;
      OK(MPI_Send(buffer, 1 + task % 64, MPI_INT, 0, kResult, MPI_COMM_WORLD));
    }
  }
  return finish();
}
