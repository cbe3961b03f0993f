/* Threads of all ranks send and receive at once: with tags of their own, from any source, and large
 * messages; one thread sends while another receives; probes race with probes (MPI-4.0 sections
 * 3.8.2 and 11.6). */
#include <string.h>

#include "threads.h"

enum { kRounds = 20, kLarge = 100000 };

static int rank, size, threads;

/* Each thread of each rank sends to the same thread of every rank and receives from any source. */
static void wildcards(int thread) {
  for (int round = 0; round < kRounds; ++round) {
    MPI_Request sends[64];
    int value = rank * 1000 + thread, sum = 0, expected = 0;
    for (int r = 0; r < size; ++r)
      OK(MPI_Isend(&value, 1, MPI_INT, r, thread, MPI_COMM_WORLD, &sends[r]));
    for (int r = 0; r < size; ++r) {
      int got = -1;
      MPI_Status status;
      OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, thread, MPI_COMM_WORLD, &status));
      CHECK(got == status.MPI_SOURCE * 1000 + thread && status.MPI_TAG == thread);
      sum += got;
      expected += r * 1000 + thread;
    }
    OK(MPI_Waitall(size, sends, MPI_STATUSES_IGNORE));
    /* Without a barrier a fast rank's next message may have come in its place: sums are equal at
     * the end only. */
    (void)sum, (void)expected;
  }
}

/* Even threads send, odd ones receive: a ring of ranks, large messages. */
static void halves(int thread) {
  char* data = malloc(kLarge);
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int round = 0; round < 3; ++round) {
    if (thread % 2 == 0) {
      memset(data, rank + round, kLarge);
      OK(MPI_Send(data, kLarge, MPI_CHAR, right, 100 + thread, MPI_COMM_WORLD));
    } else {
      OK(MPI_Recv(data, kLarge, MPI_CHAR, left, 100 + thread - 1, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
      CHECK(data[0] == (char)(left + round) && data[kLarge - 1] == (char)(left + round));
    }
  }
  free(data);
}

/* All threads of a rank take messages of one tag by matched probes; each message is taken once. */
static int taken[kMostThreads];
static void probes(int thread) {
  int right = (rank + 1) % size;
  for (int i = 0; i < kRounds; ++i) OK(MPI_Send(&i, 1, MPI_INT, right, 50, MPI_COMM_WORLD));
  for (int i = 0; i < kRounds; ++i) {
    MPI_Message message;
    MPI_Status status;
    int value = -1, count = -1;
    if (i % 2) {
      int flag = 0;
      while (!flag) OK(MPI_Improbe(MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, &flag, &message, &status));
    } else {
      OK(MPI_Mprobe(MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, &message, &status));
    }
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 1);
    OK(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    CHECK(value >= 0 && value < kRounds);
    taken[thread] += value;
  }
}

/* Requests that one thread starts and another waits for. */
static MPI_Request handed[kMostThreads];
static int handed_value[kMostThreads];
static void start(int thread) {
  OK(MPI_Irecv(&handed_value[thread], 1, MPI_INT, (rank + size - 1) % size, 200 + thread,
               MPI_COMM_WORLD, &handed[thread]));
}
static void complete(int thread) {
  int value = rank * 10 + thread, other = (thread + 1) % threads;
  OK(MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 200 + thread, MPI_COMM_WORLD));
  OK(MPI_Wait(&handed[other], MPI_STATUS_IGNORE));
  CHECK(handed_value[other] == (rank + size - 1) % size * 10 + other);
}

static void cancelled(int thread) {
  for (int i = 0; i < kRounds; ++i) {
    MPI_Request request;
    MPI_Status status;
    int value, flag = 0;
    OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 300 + thread, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
  }
}

int main(int argc, char** argv) {
  init_threads(&argc, &argv);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  static const int counts[] = {1, 2, 4, 8};
  for (int i = 0; i < 4; ++i) {
    threads = size > 16 && counts[i] > 2 ? 2 : counts[i];
    run_threads(threads, wildcards);
    if (threads > 1) run_threads(threads, halves);
    for (int t = 0; t < threads; ++t) taken[t] = 0;
    run_threads(threads, probes);
    int sum = 0;
    for (int t = 0; t < threads; ++t) sum += taken[t];
    CHECK(sum == threads * kRounds * (kRounds - 1) / 2);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    run_threads(threads, start);
    run_threads(threads, complete);
    run_threads(threads, cancelled);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  return finish();
}
