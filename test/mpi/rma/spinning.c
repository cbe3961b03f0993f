/* Programs that spin: an MCS lock (queue of ranks, each spinning on its own word), and MPI_Win_test
 * in a loop. On ranks that share a process whoever spins must let the others run. */
#include <mpi.h>

#include "mpitest.h"

enum { kTail, kNext, kBlocked, kGuarded, kWords };
static int rank, size;
static MPI_Win win;

/* Exchanges one word of a rank's window at once. */
static long swap(long value, int at, int word) {
  long old;
  OK(MPI_Fetch_and_op(&value, &old, MPI_LONG, at, word, MPI_REPLACE, win));
  OK(MPI_Win_flush(at, win));
  return old;
}

static long read_word(int at, int word) {
  long value;
  OK(MPI_Fetch_and_op(NULL, &value, MPI_LONG, at, word, MPI_NO_OP, win));
  OK(MPI_Win_flush(at, win));
  return value;
}

/* Ranks count from 1 in the words: 0 is none. */
static void acquire(void) {
  swap(0, rank, kNext);
  swap(1, rank, kBlocked);
  const long before = swap(rank + 1, 0, kTail);
  if (before == 0) return;
  swap(rank + 1, (int)before - 1, kNext);
  while (read_word(rank, kBlocked)) continue;
}

static void release(void) {
  const long none = 0, mine = rank + 1;
  long next = read_word(rank, kNext), last;
  if (next == 0) {
    OK(MPI_Compare_and_swap(&none, &mine, &last, MPI_LONG, 0, kTail, win));
    OK(MPI_Win_flush(0, win));
    if (last == mine) return;
    while ((next = read_word(rank, kNext)) == 0) continue;
  }
  swap(0, (int)next - 1, kBlocked);
}

static void queue_lock(void) {
  const int times = size > 16 ? 5 : 20;
  OK(MPI_Win_lock_all(0, win));
  for (int i = 0; i < times; ++i) {
    long value;
    acquire();
    OK(MPI_Get(&value, 1, MPI_LONG, 0, kGuarded, 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    ++value;
    OK(MPI_Put(&value, 1, MPI_LONG, 0, kGuarded, 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    release();
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(read_word(0, kGuarded) == (long)size * times);
  OK(MPI_Win_unlock_all(win));
}

/* Each rank in turn is exposed to the one before it and tests until that has completed. */
static void test_in_a_loop(long* memory) {
  MPI_Group all, from, to;
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  OK(MPI_Win_get_group(win, &all));
  OK(MPI_Group_incl(all, 1, &left, &from));
  OK(MPI_Group_incl(all, 1, &right, &to));
  for (long i = 1; i <= 3; ++i) {
    int done = 0;
    OK(MPI_Win_post(from, 0, win));
    if (rank == 0) { /* else all wait for the one before them */
      OK(MPI_Win_start(to, 0, win));
      OK(MPI_Put(&i, 1, MPI_LONG, right, kNext, 1, MPI_LONG, win));
      OK(MPI_Win_complete(win));
    }
    while (!done) OK(MPI_Win_test(win, &done));
    CHECK(memory[kNext] == i);
    if (rank != 0) {
      OK(MPI_Win_start(to, 0, win));
      OK(MPI_Put(&i, 1, MPI_LONG, right, kNext, 1, MPI_LONG, win));
      OK(MPI_Win_complete(win));
    }
  }
  OK(MPI_Group_free(&all));
  OK(MPI_Group_free(&from));
  OK(MPI_Group_free(&to));
}

int main(int argc, char** argv) {
  long* memory;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Win_allocate(kWords * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                      &win));
  for (int i = 0; i < kWords; ++i) memory[i] = 0;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  queue_lock();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  test_in_a_loop(memory);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_free(&win));
  return finish();
}
