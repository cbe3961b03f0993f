/* Which way operations take to memory that only the network reaches: by the provider's reads and
 * writes where FGMPI_RMA_NETWORK=provider or they are long, and its atomics where it has them
 * (tcp;ofi_rxm), else by messages. Orders of accumulates hold when they alternate between the two.
 * Run with FGMPI_TRANSPORT=ofi, or on several hosts. */
#include <mpi.h>
#include <string.h>

#include "fgmpi.h"
#include "mpitest.h"

enum { kWords = 4096, kShort = 64 };
static int rank, size, here, by_provider, atomics;
static MPIX_Stats_values start;

static void from_now(void) { OK(MPIX_Stats(&start)); }

/* So many operations of the process took the way. Other ranks of it are not between, as nothing
 * here switches but flushes; they only add. */
static void check_way(int provider, int operations) {
  MPIX_Stats_values now;
  OK(MPIX_Stats(&now));
  const MPI_Count asked = now.rma_messages - start.rma_messages,
                  done = now.rma_provider - start.rma_provider;
  CHECK((provider ? done : asked) >= operations);
  if (here == 1) CHECK((provider ? asked : done) == 0);
}

static void use(MPI_Win win, long* memory, int dynamic) {
  const int to = (rank + here) % size, moves = by_provider && !dynamic, folds = moves && atomics;
  const int from = (rank + size - here) % size;
  static long mine[kWords], seen[kWords];
  const MPI_Aint unit = dynamic ? 8 : 1;
  MPI_Aint base = 0, own = 0;
  if (dynamic) OK(MPI_Get_address(memory, &own));
  OK(MPI_Sendrecv(&own, 1, MPI_AINT, from, 0, &base, 1, MPI_AINT, to, 0, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  MPI_Datatype shorts, longs;
  OK(MPI_Type_vector(kShort, 1, 2, MPI_LONG, &shorts));
  OK(MPI_Type_vector(8, 128, 256, MPI_LONG, &longs));
  OK(MPI_Type_commit(&shorts));
  OK(MPI_Type_commit(&longs));
  for (int i = 0; i < kWords; ++i) mine[i] = 1000000L * rank + i;
  memset(memory, 0, kWords * sizeof(long));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock_all(0, win));

  from_now();
  OK(MPI_Put(mine, kWords, MPI_LONG, to, base, kWords, MPI_LONG, win));
  OK(MPI_Win_flush(to, win));
  OK(MPI_Get(seen, kWords, MPI_LONG, to, base, kWords, MPI_LONG, win));
  OK(MPI_Win_flush(to, win));
  CHECK(!memcmp(mine, seen, sizeof mine));
  check_way(moves, 2);

  /* Pieces that are worth an access each, at one side or both. */
  from_now();
  memset(seen, 0, sizeof seen);
  OK(MPI_Get(seen, 1, longs, to, base, 1024, MPI_LONG, win));
  OK(MPI_Win_flush(to, win));
  for (int i = 0; i < 1024; ++i) CHECK(seen[i / 128 * 256 + i % 128] == mine[i]);
  MPI_Request request;
  OK(MPI_Rget(seen, 1024, MPI_LONG, to, base, 1, longs, win, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < 1024; ++i) CHECK(seen[i] == mine[i / 128 * 256 + i % 128]);
  check_way(moves, 2);

  /* Pieces that are not. */
  from_now();
  OK(MPI_Get(seen, kShort, MPI_LONG, to, base, 1, shorts, win));
  OK(MPI_Win_flush(to, win));
  for (int i = 0; i < kShort; ++i) CHECK(seen[i] == mine[2 * i]);
  check_way(0, 1);

  from_now();
  const long one = 1;
  long old;
  for (int i = 0; i < 10; ++i)
    OK(MPI_Accumulate(mine, 64, MPI_LONG, to, base, 64, MPI_LONG, MPI_SUM, win));
  OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, to, base, MPI_SUM, win));
  OK(MPI_Win_flush(to, win));
  CHECK(old == 11 * mine[0]);
  const long expected = old + 1, desired = -5;
  OK(MPI_Compare_and_swap(&desired, &expected, &old, MPI_LONG, to, base, win));
  OK(MPI_Win_flush(to, win));
  CHECK(old == expected);
  OK(MPI_Compare_and_swap(&desired, &expected, &old, MPI_LONG, to, base, win));
  OK(MPI_Win_flush(to, win));
  CHECK(old == desired);
  check_way(folds, 13);

  /* Many values, then each second one, then all again: the last one counts. */
  static long values[20][kWords];
  for (int k = 0; k < 20; ++k) {
    for (int i = 0; i < kWords; ++i) values[k][i] = 100L * k + i % 7;
    if (k % 2)
      OK(MPI_Accumulate(values[k], kShort, MPI_LONG, to, base, 1, shorts, MPI_REPLACE, win));
    else
      OK(MPI_Accumulate(values[k], kWords, MPI_LONG, to, base, kWords, MPI_LONG, MPI_REPLACE, win));
  }
  OK(MPI_Win_flush(to, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kWords; ++i)
    CHECK(memory[i] == (i % 2 == 0 && i < 2 * kShort ? values[19][i / 2] : values[18][i]));
  OK(MPI_Barrier(MPI_COMM_WORLD));

  /* More operations than may be under way at once; gets of what nobody puts. */
  for (int i = 0; i < 1000; ++i)
    OK(MPI_Put(&mine[i], 1, MPI_LONG, to, base + i * unit, 1, MPI_LONG, win));
  OK(MPI_Win_flush_local(to, win));
  for (int i = 0; i < 1000; ++i)
    OK(MPI_Get(&seen[i], 1, MPI_LONG, rank, own + 1000 * unit, 1, MPI_LONG, win));
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 1000; ++i) CHECK(memory[i] == 1000000L * from + i);
  OK(MPI_Type_free(&shorts));
  OK(MPI_Type_free(&longs));
}

/* Long transfers: by the provider unless that is forbidden. */
static void use_large(int allowed) {
  enum { kLarge = 1 << 19 };
  const int to = (rank + here) % size, from = (rank + size - here) % size;
  MPI_Win win;
  char *memory, *mine = malloc(kLarge), *seen = calloc(1, kLarge);
  OK(MPI_Win_allocate(kLarge, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  memset(mine, 'a' + rank % 26, kLarge);
  OK(MPI_Win_fence(0, win));
  from_now();
  OK(MPI_Put(mine, kLarge, MPI_BYTE, to, 0, kLarge, MPI_BYTE, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < kLarge; ++i) CHECK(memory[i] == 'a' + from % 26);
  OK(MPI_Get(seen, kLarge, MPI_BYTE, to, 0, kLarge, MPI_BYTE, win));
  OK(MPI_Win_fence(0, win));
  CHECK(!memcmp(mine, seen, kLarge));
  check_way(allowed, 2);
  OK(MPI_Win_free(&win));
  free(mine);
  free(seen);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPIX_Get_collocated_size(&here));
  const char* network = getenv("FGMPI_RMA_NETWORK");
  const char* provider = getenv("FI_PROVIDER");
  by_provider = network && !strcmp(network, "provider");
  atomics = by_provider && provider && strstr(provider, "ofi_rxm");
  use_large(!network || strcmp(network, "messages"));
  MPI_Win win;
  long* memory;
  OK(MPI_Win_allocate(kWords * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                      &win));
  use(win, memory, 0);
  OK(MPI_Win_free(&win));
  memory = malloc(kWords * sizeof(long));
  OK(MPI_Win_create(memory, kWords * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                    &win));
  use(win, memory, 0);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_attach(win, memory, kWords * sizeof(long)));
  use(win, memory, 1);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_detach(win, memory));
  OK(MPI_Win_free(&win));
  free(memory);
  return finish();
}
