/* Mains poll while their threads compute, send to them, or poll themselves: a main that rests
 * between its polls is woken by what comes, and its loop ends as well when a thread that calls no
 * MPI sets a flag. */
#include <stdatomic.h>
#include <time.h>

#include "threads.h"

enum { kRounds = 20, kPollers = 3 };

static int rank, size;
static atomic_int flag_of_main;

static void compute_for(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) continue;
}

/* Sends to the main of its own rank, after a while. */
static void* send_later(void* unused) {
  (void)unused;
  for (int i = 0; i < kRounds; ++i) {
    compute_for(i % 2 ? 3e-4 : 0);
    OK(MPI_Send(&i, 1, MPI_INT, rank, 1, MPI_COMM_WORLD));
    OK(MPI_Recv(NULL, 0, MPI_INT, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  return NULL;
}

static void poll_for_thread(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, send_later, NULL) == 0);
  for (int i = 0; i < kRounds; ++i) {
    int value = -1, flag = 0;
    MPI_Request request;
    if (i % 3 == 0)
      while (!flag) OK(MPI_Iprobe(rank, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    OK(MPI_Irecv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request));
    for (flag = 0; !flag;) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(value == i);
    OK(MPI_Send(NULL, 0, MPI_INT, rank, 2, MPI_COMM_WORLD));
  }
  CHECK(pthread_join(thread, NULL) == 0);
}

static void* set_flag_later(void* unused) {
  const struct timespec pause = {0, 3000000};
  (void)unused;
  nanosleep(&pause, NULL);
  atomic_store(&flag_of_main, rank + 1);
  return NULL;
}

/* Nothing ever comes; the thread does not call MPI. */
static void poll_until_flag(void) {
  pthread_t thread;
  int flag;
  atomic_store(&flag_of_main, 0);
  CHECK(pthread_create(&thread, NULL, set_flag_later, NULL) == 0);
  while (!atomic_load(&flag_of_main)) {
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
  }
  CHECK(atomic_load(&flag_of_main) == rank + 1);
  CHECK(pthread_join(thread, NULL) == 0);
}

/* Passes tokens around all ranks, one for each thread, by tests. */
static void pass_tokens(int thread) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size, tag = 10 + thread;
  for (int i = 0; i < kRounds; ++i) {
    int value = -1, flag = 0;
    MPI_Request request, sent;
    OK(MPI_Irecv(&value, 1, MPI_INT, left, tag, MPI_COMM_WORLD, &request));
    if (rank == 0) OK(MPI_Isend(&i, 1, MPI_INT, right, tag, MPI_COMM_WORLD, &sent));
    while (!flag) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(value == i);
    if (rank != 0) OK(MPI_Isend(&value, 1, MPI_INT, right, tag, MPI_COMM_WORLD, &sent));
    for (flag = 0; !flag;) OK(MPI_Test(&sent, &flag, MPI_STATUS_IGNORE));
  }
}

static void* pass_in_thread(void* argument) {
  pass_tokens(*(int*)argument);
  return NULL;
}

int main(int argc, char** argv) {
  int provided, numbers[kPollers];
  pthread_t threads[kPollers];
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided == MPI_THREAD_MULTIPLE);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  pass_tokens(kPollers); /* no thread has called MPI yet */
  poll_until_flag();
  poll_for_thread();
  for (int t = 0; t < kPollers; ++t) {
    numbers[t] = t;
    CHECK(pthread_create(&threads[t], NULL, pass_in_thread, &numbers[t]) == 0);
  }
  pass_tokens(kPollers);
  for (int t = 0; t < kPollers; ++t) CHECK(pthread_join(threads[t], NULL) == 0);
  poll_until_flag();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return finish();
}
