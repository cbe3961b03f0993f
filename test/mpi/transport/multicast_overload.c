/* Many groups and many senders at once: every communicator leaves out other processes, so that each
 * has a group of its own, and everybody begins allgathers, all-to-alls and broadcasts on all of his
 * communicators before he waits for any.
 *   multicast_overload [ROUNDS [PERCENT]]   PERCENT: of the packets at most so many are sent
 *                                           again */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

enum { kGroups = 8, kBytes = 48000, kEach = 3 };

static unsigned char byte_of(int round, int group, int from, int i) {
  return (unsigned char)((unsigned)(i * 31 + i / 251 + from * 7 + round * 3 + group) & 255u);
}

/* What a communicator has under way: `block` bytes of a rank. */
struct Open {
  MPI_Comm comm;
  int rank, size, block;
  unsigned char *own, *gathered, *out, *in, *from_root;
  MPI_Request requests[kEach];
};

static void begin(struct Open* o, int round, int group) {
  const int n = o->size, block = o->block, to_each = block / n + 1;
  const int root = (round + group) % n;
  o->own = malloc((size_t)block);
  o->gathered = calloc((size_t)n, (size_t)block);
  o->out = malloc((size_t)n * (size_t)to_each);
  o->in = calloc((size_t)n, (size_t)to_each);
  o->from_root = calloc(1, kBytes);
  for (int i = 0; i < block; ++i) o->own[i] = byte_of(round, group, o->rank, i);
  for (int i = 0; i < n * to_each; ++i) o->out[i] = byte_of(round, group, o->rank, i);
  for (int i = 0; i < kBytes && o->rank == root; ++i)
    o->from_root[i] = byte_of(round, group, 99, i);
  OK(MPI_Iallgather(o->own, block, MPI_BYTE, o->gathered, block, MPI_BYTE, o->comm,
                    &o->requests[0]));
  OK(MPI_Ialltoall(o->out, to_each, MPI_BYTE, o->in, to_each, MPI_BYTE, o->comm, &o->requests[1]));
  OK(MPI_Ibcast(o->from_root, kBytes, MPI_BYTE, root, o->comm, &o->requests[2]));
}

static void end(struct Open* o, int round, int group) {
  const int n = o->size, block = o->block, to_each = block / n + 1;
  OK(MPI_Waitall(kEach, o->requests, MPI_STATUSES_IGNORE));
  for (int r = 0; r < n; ++r) {
    for (int i = 0; i < block; ++i)
      CHECK(o->gathered[r * block + i] == byte_of(round, group, r, i));
    for (int i = 0; i < to_each; ++i)
      CHECK(o->in[r * to_each + i] == byte_of(round, group, r, o->rank * to_each + i));
  }
  for (int i = 0; i < kBytes; ++i) CHECK(o->from_root[i] == byte_of(round, group, 99, i));
  free(o->own), free(o->gathered), free(o->out), free(o->in), free(o->from_root);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  const int rounds = argc > 1 ? atoi(argv[1]) : 2;
  int processes, rank, first, collocated;
  OK(MPIX_Get_n_size(&processes));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPIX_Get_collocated_startrank(&first));
  OK(MPIX_Get_collocated_size(&collocated));
  struct Open open[kGroups];
  const int groups = processes < kGroups ? processes : kGroups, own = first / collocated % groups;
  for (int g = 0; g < groups; ++g) {
    struct Open* o = &open[g];
    OK(MPI_Comm_split(MPI_COMM_WORLD, own == g && groups > 1 ? MPI_UNDEFINED : 0, 0, &o->comm));
    if (o->comm == MPI_COMM_NULL) continue;
    OK(MPI_Comm_rank(o->comm, &o->rank));
    OK(MPI_Comm_size(o->comm, &o->size));
    o->block = kBytes / collocated;
  }
  for (int round = 0; round < rounds; ++round) {
    for (int g = 0; g < groups; ++g)
      if (open[g].comm != MPI_COMM_NULL) begin(&open[g], round, g);
    for (int g = 0; g < groups; ++g)
      if (open[g].comm != MPI_COMM_NULL) end(&open[g], round, g);
  }
  MPIX_Stats_values values;
  OK(MPIX_Stats(&values));
  long mine[4] = {0, 0, 0, 0}, sums[4];
  if (rank == first) {
    mine[0] = (long)values.multicast_transfers;
    mine[1] = (long)(values.multicast_bytes / 1380);
    mine[2] = (long)values.multicast_repairs;
    mine[3] = (long)values.multicast_dropped;
  }
  OK(MPI_Reduce(mine, sums, 4, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
  if (rank == 0) {
    const char* forced = getenv("FGMPI_COLL_ALLGATHER");
    if (forced && strcmp(forced, "multicast") == 0 && processes > 2) CHECK(sums[0] > 0);
    printf("%ld transfers, about %ld packets, %ld repairs, %ld dropped\n", sums[0], sums[1],
           sums[2], sums[3]);
    if (argc > 2) CHECK(100 * sums[2] <= atoi(argv[2]) * sums[1]);
  }
  for (int g = 0; g < groups; ++g)
    if (open[g].comm != MPI_COMM_NULL) OK(MPI_Comm_free(&open[g].comm));
  return finish();
}
