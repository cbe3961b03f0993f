/* One-sided operations of several threads of a rank at once, on one window: puts and gets of slots
 * of their own, atomic updates of shared ones, under lock_all with flushes, and a window and an
 * exclusive lock a thread. */
#include <string.h>

#include "threads.h"

enum { kRounds = 25 };

static int rank, size, threads;
static MPI_Win shared, own[kMostThreads];
/* [0]: a sum, [1]: a ticket, then a slot for each thread of each rank. */
static long long* memory;
static long long* own_memory[kMostThreads];

static MPI_Aint slot(int origin, int thread) { return 2 + origin * threads + thread; }

static void work(int thread) {
  for (int round = 0; round < kRounds; ++round) {
    const int target = (rank + thread + round) % size;
    const MPI_Aint at = slot(rank, thread);
    long long value = rank * 1000000 + thread * 1000 + round, back = -1, one = 1, ticket = -1;
    OK(MPI_Put(&value, 1, MPI_LONG_LONG, target, at, 1, MPI_LONG_LONG, shared));
    OK(MPI_Win_flush(target, shared));
    OK(MPI_Get(&back, 1, MPI_LONG_LONG, target, at, 1, MPI_LONG_LONG, shared));
    OK(MPI_Win_flush(target, shared));
    CHECK(back == value);
    OK(MPI_Accumulate(&one, 1, MPI_LONG_LONG, target, 0, 1, MPI_LONG_LONG, MPI_SUM, shared));
    OK(MPI_Fetch_and_op(&one, &ticket, MPI_LONG_LONG, 0, 1, MPI_SUM, shared));
    OK(MPI_Win_flush_all(shared));
    CHECK(ticket >= 0 && ticket < (long long)size * threads * kRounds);
    MPI_Request request;
    back = -1;
    OK(MPI_Rget(&back, 1, MPI_LONG_LONG, target, at, 1, MPI_LONG_LONG, shared, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(back == value);

    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, own[thread]));
    OK(MPI_Get(&back, 1, MPI_LONG_LONG, target, 0, 1, MPI_LONG_LONG, own[thread]));
    OK(MPI_Win_flush(target, own[thread]));
    back += 1;
    OK(MPI_Put(&back, 1, MPI_LONG_LONG, target, 0, 1, MPI_LONG_LONG, own[thread]));
    OK(MPI_Win_unlock(target, own[thread]));
  }
}

int main(int argc, char** argv) {
  init_threads(&argc, &argv);
  threads = threads_of_shape();
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const MPI_Aint bytes = slot(size, 0) * (MPI_Aint)sizeof(long long);
  OK(MPI_Win_allocate(bytes, sizeof(long long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &shared));
  memset(memory, 0, (size_t)bytes);
  for (int t = 0; t < threads; ++t) {
    OK(MPI_Win_allocate(sizeof(long long), sizeof(long long), MPI_INFO_NULL, MPI_COMM_WORLD,
                        &own_memory[t], &own[t]));
    *own_memory[t] = 0;
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock_all(0, shared));
  run_threads(threads, work);
  OK(MPI_Win_unlock_all(shared));
  OK(MPI_Barrier(MPI_COMM_WORLD));

  long long sums[2] = {0, 0}, mine[2];
  OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, shared));
  mine[0] = memory[0];
  OK(MPI_Win_unlock(rank, shared));
  mine[1] = 0;
  for (int t = 0; t < threads; ++t) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, own[t]));
    mine[1] += *own_memory[t];
    OK(MPI_Win_unlock(rank, own[t]));
  }
  OK(MPI_Allreduce(mine, sums, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sums[0] == (long long)size * threads * kRounds);
  CHECK(sums[1] == (long long)size * threads * kRounds);
  if (rank == 0) CHECK(memory[1] == (long long)size * threads * kRounds);
  for (int t = 0; t < threads; ++t) OK(MPI_Win_free(&own[t]));
  OK(MPI_Win_free(&shared));
  return finish();
}
