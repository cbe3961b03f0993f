/* A table of words over all ranks, updated at random places by exclusive or: the one-sided form of
 * HPC Challenge's RandomAccess (written from its description). Updates twice restore the table, if
 * each was atomic. Some ranks update by MPI_Accumulate, some fetch the word, and some compare and
 * swap until nobody was between. */
#include <mpi.h>
#include <stdint.h>

#include "mpitest.h"

enum {
  kWords = 256,
  kAhead = 64
}; /* words of a rank; updates that are not complete, as the benchmark allows 1,024 */
static int rank, size;
static MPI_Win win;

/* The benchmark's sequence: x to the power n modulo a primitive polynomial over two elements. */
static uint64_t next(uint64_t x) { return (x << 1) ^ ((int64_t)x < 0 ? 7 : 0); }

static void swap_until_done(uint64_t value, int target, MPI_Aint place) {
  uint64_t seen, expected, desired;
  /* MPI_Get would conflict with the accumulates of others. */
  OK(MPI_Fetch_and_op(NULL, &expected, MPI_UINT64_T, target, place, MPI_NO_OP, win));
  OK(MPI_Win_flush(target, win));
  for (;;) {
    desired = expected ^ value;
    OK(MPI_Compare_and_swap(&desired, &expected, &seen, MPI_UINT64_T, target, place, win));
    OK(MPI_Win_flush(target, win));
    if (seen == expected) return;
    expected = seen;
  }
}

static void update_all(int updates) {
  static uint64_t values[kAhead], old[kAhead];
  uint64_t x = 0x123456789abcdefULL * (uint64_t)(rank + 1);
  OK(MPI_Win_lock_all(0, win));
  for (int i = 0; i < updates; ++i) {
    x = next(x);
    const uint64_t word = (x >> 20) % ((uint64_t)size * kWords);
    const int target = (int)(word / kWords), slot = i % kAhead;
    const MPI_Aint place = (MPI_Aint)(word % kWords);
    values[slot] = x;
    if (rank % 4 == 3)
      swap_until_done(x, target, place);
    else if (rank % 4 == 2)
      OK(MPI_Fetch_and_op(&values[slot], &old[slot], MPI_UINT64_T, target, place, MPI_BXOR, win));
    else
      OK(MPI_Accumulate(&values[slot], 1, MPI_UINT64_T, target, place, 1, MPI_UINT64_T, MPI_BXOR,
                        win));
    if (slot == kAhead - 1) OK(MPI_Win_flush_all(win));
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  uint64_t* table;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const int updates = size > 64 ? 64 : 4096 / size + 64;
  for (int user = 0; user < 2; ++user) {
    const MPI_Aint bytes = kWords * sizeof *table;
    if (user) {
      table = malloc(bytes);
      OK(MPI_Win_create(table, bytes, sizeof *table, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    } else {
      OK(MPI_Win_allocate(bytes, sizeof *table, MPI_INFO_NULL, MPI_COMM_WORLD, &table, &win));
    }
    for (int i = 0; i < kWords; ++i) table[i] = (uint64_t)rank * kWords + (uint64_t)i;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    update_all(updates);
    int changed = 0;
    for (int i = 0; i < kWords; ++i) changed += table[i] != (uint64_t)rank * kWords + (uint64_t)i;
    OK(MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(changed > kWords / 16); /* the updates did arrive */
    update_all(updates);
    for (int i = 0; i < kWords; ++i) CHECK(table[i] == (uint64_t)rank * kWords + (uint64_t)i);
    OK(MPI_Win_free(&win));
    if (user) free(table);
  }
  return finish();
}
