/* Broadcasts by IP multicast: from every root, of every size, on communicators that share processes
 * and on ones that do not; several at once; those that members enter late. How often the process
 * has multicast is counted.
 *   multicast [ROUNDS[s] [used|unused|moved]]   ROUNDSs: for so many seconds; used: the broadcasts
 *                                               must have gone by multicast, unused: none may,
 *                                               moved: a group must have changed its address
 * Without the word: used where FGMPI_COLL_BCAST says so. */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

static unsigned char byte_of(int round, int root, int i) {
  return (unsigned char)((unsigned)(i * 31 + i / 251 + root * 7 + round) & 255u);
}

static void fill(unsigned char* p, int bytes, int round, int root) {
  for (int i = 0; i < bytes; ++i) p[i] = byte_of(round, root, i);
}
static void check(const unsigned char* p, int bytes, int round, int root) {
  for (int i = 0; i < bytes; ++i) CHECK(p[i] == byte_of(round, root, i));
}

static void one_by_one(MPI_Comm comm, int round) {
  int rank, size;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  const int step = size > 8 ? size / 5 : 1;
  for (int bytes = 0; bytes < 300000; bytes = bytes * 6 + 1001) {
    unsigned char* data = malloc((size_t)bytes + 1);
    for (int root = round % step; root < size; root += step) {
      memset(data, 0, (size_t)bytes + 1);
      if (rank == root) fill(data, bytes, round, root);
      OK(MPI_Bcast(data, bytes, MPI_BYTE, root, comm));
      check(data, bytes, round, root);
    }
    free(data);
  }
}

/* Several of different roots are open at once, and are waited for in another order than they were
 * begun in. */
static void at_once(MPI_Comm comm, int round) {
  enum { kAtOnce = 6, kBytes = 70000 };
  unsigned char* all = malloc((size_t)kAtOnce * kBytes);
  MPI_Request requests[kAtOnce];
  int rank, size;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  for (int i = 0; i < kAtOnce; ++i) {
    unsigned char* mine = all + (size_t)i * kBytes;
    const int root = (round + i * 3) % size;
    if (rank == root) fill(mine, kBytes - i, round + i, root);
    OK(MPI_Ibcast(mine, kBytes - i, MPI_BYTE, root, comm, &requests[i]));
  }
  for (int k = 0; k < kAtOnce; ++k) {
    const int i = (k * 5 + rank) % kAtOnce;
    OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    check(all + (size_t)i * kBytes, kBytes - i, round + i, (round + i * 3) % size);
  }
  free(all);
}

/* A member that is late: what the others send waits for it, and for nobody else. */
static void late(MPI_Comm comm, int round) {
  enum { kBytes = 40000 };
  unsigned char* data = malloc(kBytes);
  int rank, size;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  for (int i = 0; i < 3; ++i) {
    const int root = i % size;
    if (rank == (round + 1) % size) OK(MPIX_Usleep(20000));
    if (rank == root) fill(data, kBytes, round + i, root);
    OK(MPI_Bcast(data, kBytes, MPI_BYTE, root, comm));
    check(data, kBytes, round + i, root);
  }
  free(data);
}

/* Communicators come and go: of the same processes, and of others. */
static void others(int round) {
  int rank;
  MPI_Comm same, half;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &same));
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
  one_by_one(same, round);
  one_by_one(half, round);
  OK(MPI_Comm_free(&same));
  at_once(half, round);
  OK(MPI_Comm_free(&half));
}

static MPI_T_pvar_session session;
/* A counter of this process, from now on. */
static MPI_T_pvar_handle open_counter(const char* name) {
  MPI_T_pvar_handle handle;
  int provided, index, count;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  return handle;
}
/* What it has counted; closes it. */
static unsigned long long close_counter(MPI_T_pvar_handle handle) {
  unsigned long long value;
  OK(MPI_T_pvar_read(session, handle, &value));
  OK(MPI_T_pvar_handle_free(session, &handle));
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  return value;
}

/* Whether there is to be another round: rank 0 has the clock. */
static int goes_on(int round, const char* rounds, double started) {
  const int n = atoi(rounds);
  if (rounds[strspn(rounds, "0123456789")] != 's') return round < n;
  int on = MPI_Wtime() - started < n;
  OK(MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD));
  return on;
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  const char* rounds = argc > 1 ? argv[1] : "1";
  const double started = MPI_Wtime();
  const MPI_T_pvar_handle moves = open_counter("multicast_moves");
  const char* forced = getenv("FGMPI_COLL_BCAST");
  int processes, rank, first;
  OK(MPIX_Get_n_size(&processes));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPIX_Get_collocated_startrank(&first));
  for (int round = 0; goes_on(round, rounds, started); ++round) {
    one_by_one(MPI_COMM_WORLD, round);
    at_once(MPI_COMM_WORLD, round);
    late(MPI_COMM_WORLD, round);
    others(round);
    if (rank == 0 && round == 0) {
      puts("ready");
      fflush(stdout);
    }
  }
  MPIX_Stats_values values;
  OK(MPIX_Stats(&values));
  const long moved = (long)close_counter(moves);
  long mine[4] = {0, 0, 0, 0}, sums[4];
  if (rank == first) {
    mine[0] = (long)values.multicast_transfers;
    mine[1] = (long)values.multicast_repairs;
    mine[2] = (long)values.multicast_dropped;
    mine[3] = moved;
  }
  OK(MPI_Reduce(mine, sums, 4, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
  if (rank == 0) {
    const int is_forced = forced && strcmp(forced, "multicast") == 0 && processes > 1;
    const char* expected = argc > 2 ? argv[2] : is_forced ? "used" : "";
    if (strcmp(expected, "used") == 0) CHECK(sums[0] > 0);
    if (strcmp(expected, "unused") == 0) CHECK(sums[0] == 0);
    if (strcmp(expected, "moved") == 0) CHECK(sums[3] > 0);
    printf("%ld transfers, %ld repairs, %ld dropped, %ld moves\n", sums[0], sums[1], sums[2],
           sums[3]);
  }
  return finish();
}
