/* The main job: splits the world in several ways and checks every new communicator by communicating
 * in it.
 *
 *   mpiexec -n P -nfg C comm_split [-r REPEATS]
 *
 * For each case the table shows how many communicators the split made, the time of one split
 * (slowest rank, best of REPEATS), the bytes that process 0 keeps per communicator, members' parts
 * included and without them, and how the rank map is stored. Checks, per communicator: rank and
 * size; a token round the ring of its members that must visit them in the order the keys ask for;
 * an allreduce of world ranks; a broadcast from the last rank. A failed check ends the job with a
 * non-zero status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fgmpi.h"

typedef struct {
  const char* name;
  int color, key; /* of the calling rank */
  int rank, size; /* expected; -1: not known in advance (random) */
  long sum;       /* expected sum of members' world ranks; -1: not known */
} Case;

static int world_rank, world_size;

static void check(int good, const char* case_name, const char* what) {
  if (good) return;
  fprintf(stderr, "comm_split: rank %d, case %s: wrong %s\n", world_rank, case_name, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A fixed pseudo-random permutation of 0..n-1 would need n entries: a hash gives random colours and
 * keys instead. */
static unsigned hash(unsigned x) {
  x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu, x ^= x >> 16;
  return x;
}

static void check_by_communicating(const Case* c, MPI_Comm comm) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  check(c->rank < 0 || rank == c->rank, c->name, "rank");
  check(c->size < 0 || size == c->size, c->name, "size");
  /* Keys ascend with the rank, ties in order of the world rank. */
  int mine[2] = {c->key, world_rank}, before[2] = {0, 0};
  int next = rank + 1 < size ? rank + 1 : MPI_PROC_NULL,
      previous = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  MPI_Sendrecv(mine, 2, MPI_INT, next, 5, before, 2, MPI_INT, previous, 5, comm, MPI_STATUS_IGNORE);
  if (rank > 0)
    check(before[0] < mine[0] || (before[0] == mine[0] && before[1] < mine[1]), c->name,
          "order of keys");
  long value = world_rank, sum = -1;
  MPI_Allreduce(&value, &sum, 1, MPI_LONG, MPI_SUM, comm);
  check(c->sum < 0 || sum == c->sum, c->name, "sum over members");
  int colour = c->color;
  MPI_Bcast(&colour, 1, MPI_INT, size - 1, comm);
  check(colour == c->color, c->name, "colour of the last member");
}

static double split_once(const Case* c, MPI_Comm* comm) {
  double local, slowest;
  MPI_Barrier(MPI_COMM_WORLD);
  local = MPI_Wtime();
  MPI_Comm_split(MPI_COMM_WORLD, c->color, c->key, comm);
  local = MPI_Wtime() - local;
  MPI_Allreduce(&local, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static void run(const Case* c, int repeats) {
  MPI_Comm comm;
  double best = split_once(c, &comm);
  check_by_communicating(c, comm);
  int first = 0, rank;
  MPI_Comm_rank(comm, &rank);
  int leader = rank == 0;
  MPI_Allreduce(&leader, &first, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank == 0) {
    MPIX_Map_info info;
    char stored[80];
    MPIX_Comm_map_info(comm, &info);
    snprintf(stored, sizeof stored, "%s%s%s", info.model, info.encoding[0] ? ": " : "",
             info.encoding);
    printf("| %-12s | %9d | %9d |", c->name, world_size, first);
    fflush(stdout);
    for (int i = 1; i < repeats; ++i) {
      MPI_Comm again;
      double seconds = split_once(c, &again);
      if (seconds < best) best = seconds;
      MPI_Comm_free(&again);
    }
    printf(" %10.3f | %12lld | %12lld | %-24s |\n", 1e3 * best, (long long)info.process_bytes,
           (long long)info.map_bytes, stored);
  } else {
    for (int i = 1; i < repeats; ++i) {
      MPI_Comm again;
      split_once(c, &again);
      MPI_Comm_free(&again);
    }
  }
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  int repeats = 3, columns = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (argc == 3 && !strcmp(argv[1], "-r")) repeats = atoi(argv[2]);
  if ((argc != 1 && argc != 3) || repeats < 1) {
    if (world_rank == 0) fprintf(stderr, "usage: comm_split [-r REPEATS], REPEATS at least 1\n");
    MPI_Finalize();
    return 2;
  }
  for (int d = 1; (long)d * d <= world_size; ++d)
    if (world_size % d == 0) columns = world_size / d;
  int rows = world_size / columns, row = world_rank / columns, column = world_rank % columns;
  long n = world_size, parity = world_rank % 2, odd_even = (n + 1 - parity) / 2;
  Case cases[] = {
      {"odd/even", (int)parity, world_rank, world_rank / 2, (int)odd_even,
       odd_even * (odd_even - 1) + parity * odd_even},
      {"rows", row, world_rank, column, columns,
       (long)row * columns * columns + (long)columns * (columns - 1) / 2},
      {"columns", column, world_rank, row, rows,
       (long)column * rows + (long)columns * rows * (rows - 1) / 2},
      {"reversed", 0, -world_rank, world_size - 1 - world_rank, world_size, n * (n - 1) / 2},
      {"random", (int)(hash(world_rank) % 4), (int)(hash(world_rank + 77777u) >> 1), -1, -1, -1},
      {"random order", 0, (int)(hash(world_rank + 99999u) >> 1), -1, world_size, n * (n - 1) / 2},
  };
  if (world_rank == 0) {
    int processes, collocated;
    MPIX_Get_n_size(&processes);
    MPIX_Get_collocated_size(&collocated);
    printf("comm_split: %d ranks = %d processes x %d proclets; grid %d x %d; best of %d\n",
           world_size, processes, collocated, rows, columns, repeats);
    printf(
        "| case         |     ranks |     comms | ms / split | B/comm/proc. |    B for map | "
        "stored as                |\n");
    printf(
        "|--------------|-----------|-----------|------------|--------------|--------------|-------"
        "-------------------|\n");
  }
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; ++i) run(&cases[i], repeats);
  if (world_rank == 0) printf("All communicators checked by communicating in them.\n");
  MPI_Finalize();
  return 0;
}
