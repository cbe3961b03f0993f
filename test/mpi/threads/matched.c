/* Threads of a rank send to the next one and take what comes by matched probes, each with a tag of
 * its own, all at once. */
#include "threads.h"

enum { kRounds = 160 };

static int rank, size;

static void exchange(int thread) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int i = 0; i < kRounds; ++i) {
    int sent[2] = {rank, i}, got[2] = {-1, -1}, found = 0, count = 0;
    MPI_Request request;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    OK(MPI_Isend(sent, 2, MPI_INT, next, thread, MPI_COMM_WORLD, &request));
    if (i % 8)
      OK(MPI_Mprobe(before, thread, MPI_COMM_WORLD, &message, &status));
    else
      while (!found) OK(MPI_Improbe(before, thread, MPI_COMM_WORLD, &found, &message, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 2);
    if (i & 1) {
      MPI_Request receive;
      OK(MPI_Imrecv(got, 2, MPI_INT, &message, &receive));
      OK(MPI_Wait(&receive, &status));
    } else {
      OK(MPI_Mrecv(got, 2, MPI_INT, &message, &status));
    }
    CHECK(got[0] == before && got[1] == i && message == MPI_MESSAGE_NULL);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

int main(int argc, char** argv) {
  init_threads(&argc, &argv);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  run_threads(threads_of_shape(), exchange);
  return finish();
}
