/* Every collective, with ranks that do not give the same length: every rank that receives from one
 * with another length gets an error, and the next collective works. Lengths that differ a little, a
 * lot, from zero, and across the thresholds of algorithms; blocking, nonblocking and
 * persistent; within a group and between two. With TEST_SYSTEM_RANKED in the environment, on a
 * communicator whose ranks the system picked. */
#include <fgmpi.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "mpitest.h"

enum Kind {
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kExscan,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
  kKinds
};
enum Mode { kBlocking, kNonblocking, kPersistent, kModes };

static int rank, size;

/* What a rank gives to a call: `n` elements for, or from, each of `peers` ranks. */
struct Call {
  Kind kind;
  Mode mode;
  int n, peers, root;
  MPI_Comm comm;
};

struct Memory {
  std::vector<int> send, recv, counts, displs, bytes;
  std::vector<MPI_Datatype> types;
  MPI_Aint wide[2];
  explicit Memory(const Call& c) {
    size_t peers = static_cast<size_t>(c.peers), n = static_cast<size_t>(c.n);
    send.assign(peers * n + 1, 1);
    recv.assign(peers * n + 1, 0);
    wide[0] = 0;
    wide[1] = static_cast<MPI_Aint>(sizeof(int) * n);
    for (int i = 0; i < c.peers; ++i) {
      counts.push_back(c.n);
      displs.push_back(i * c.n);
      bytes.push_back(i * c.n * static_cast<int>(sizeof(int)));
      types.push_back(MPI_INT);
    }
  }
};

#define FORMS(Name, Iname, ...)                                 \
  (c.mode == kBlocking      ? MPI_##Name(__VA_ARGS__)           \
   : c.mode == kNonblocking ? MPI_##Iname(__VA_ARGS__, request) \
                            : MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request))

static int start(const Call& c, Memory& m, MPI_Request* request) {
  int *s = m.send.data(), *r = m.recv.data(), *counts = m.counts.data(), *displs = m.displs.data();
  int* bytes = m.bytes.data();
  MPI_Datatype* types = m.types.data();
  const MPI_Datatype t = MPI_INT;
  switch (c.kind) {
    case kBcast:
      return FORMS(Bcast, Ibcast, s, c.n, t, c.root, c.comm);
    case kGather:
      return FORMS(Gather, Igather, s, c.n, t, r, c.n, t, c.root, c.comm);
    case kGatherv:
      return FORMS(Gatherv, Igatherv, s, c.n, t, r, counts, displs, t, c.root, c.comm);
    case kScatter:
      return FORMS(Scatter, Iscatter, s, c.n, t, r, c.n, t, c.root, c.comm);
    case kScatterv:
      return FORMS(Scatterv, Iscatterv, s, counts, displs, t, r, c.n, t, c.root, c.comm);
    case kAllgather:
      return FORMS(Allgather, Iallgather, s, c.n, t, r, c.n, t, c.comm);
    case kAllgatherv:
      return FORMS(Allgatherv, Iallgatherv, s, c.n, t, r, counts, displs, t, c.comm);
    case kAlltoall:
      return FORMS(Alltoall, Ialltoall, s, c.n, t, r, c.n, t, c.comm);
    case kAlltoallv:
      return FORMS(Alltoallv, Ialltoallv, s, counts, displs, t, r, counts, displs, t, c.comm);
    case kAlltoallw:
      return FORMS(Alltoallw, Ialltoallw, s, counts, bytes, types, r, counts, bytes, types, c.comm);
    case kReduce:
      return FORMS(Reduce, Ireduce, s, r, c.n, t, MPI_SUM, c.root, c.comm);
    case kAllreduce:
      return FORMS(Allreduce, Iallreduce, s, r, c.n, t, MPI_SUM, c.comm);
    case kReduceScatter:
      return FORMS(Reduce_scatter, Ireduce_scatter, s, r, counts, t, MPI_SUM, c.comm);
    case kReduceScatterBlock:
      return FORMS(Reduce_scatter_block, Ireduce_scatter_block, s, r, c.n, t, MPI_SUM, c.comm);
    case kScan:
      return FORMS(Scan, Iscan, s, r, c.n, t, MPI_SUM, c.comm);
    case kExscan:
      return FORMS(Exscan, Iexscan, s, r, c.n, t, MPI_SUM, c.comm);
    case kNeighborAllgather:
      return FORMS(Neighbor_allgather, Ineighbor_allgather, s, c.n, t, r, c.n, t, c.comm);
    case kNeighborAllgatherv:
      return FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, s, c.n, t, r, counts, displs, t,
                   c.comm);
    case kNeighborAlltoall:
      return FORMS(Neighbor_alltoall, Ineighbor_alltoall, s, c.n, t, r, c.n, t, c.comm);
    case kNeighborAlltoallv:
      return FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, s, counts, displs, t, r, counts, displs,
                   t, c.comm);
    default: {
      MPI_Aint* wide = m.wide;
      return FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, s, counts, wide, types, r, counts, wide,
                   types, c.comm);
    }
  }
}

/* How often the collective is done in one case. */
static int rounds(Mode mode) { return mode == kPersistent ? 2 : 1; }

/* How many of the rounds, or of their completions, fail. */
static int run(const Call& c) {
  Memory m(c);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = start(c, m, &request), errors = 0;
  if (c.mode == kBlocking) return code != MPI_SUCCESS;
  CHECK(code == MPI_SUCCESS);
  for (int round = 0; round < rounds(c.mode); ++round) {
    if (c.mode == kPersistent) OK(MPI_Start(&request));
    errors += MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  }
  if (c.mode == kPersistent) OK(MPI_Request_free(&request));
  return errors;
}

static int is_neighbor(Kind k) { return k >= kNeighborAllgather; }

/* Rank `to` receives what rank `from` gives. */
static int receives(Kind kind, int root, int to, int from) {
  switch (kind) {
    case kBcast:
    case kScatter:
    case kScatterv:
      return from == root;
    case kGather:
    case kGatherv:
    case kReduce:
      return to == root;
    case kScan:
      return from <= to;
    case kExscan:
      return from < to;
    default:
      return is_neighbor(kind) ? (to + 1) % size == from || (from + 1) % size == to : 1;
  }
}

static void next_one_works(MPI_Comm comm) {
  int one = 1, sum = 0;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK(sum == size);
  std::vector<int> many(5000, rank);
  OK(MPI_Bcast(many.data(), 5000, MPI_INT, size - 1, comm));
  CHECK(many[0] == size - 1 && many[4999] == size - 1);
}

/* Ranks for which odd() holds give `odd_n`, the others `n`. */
template <class Odd>
static void one_case(Kind kind, Mode mode, int root, int n, int odd_n, MPI_Comm comm, Odd&& odd) {
  int mine = odd(rank) ? odd_n : n;
  Call c{kind, mode, mine, is_neighbor(kind) ? 2 : size, root, comm};
  if (rank % 3 == 2) usleep(300); /* not all at once */
  int errors = run(c), wrong = 0, any = 0;
  for (int from = 0; from < size; ++from) {
    wrong |= receives(kind, root, rank, from) && odd(from) != odd(rank);
    any |= odd(from) != odd(0);
  }
  if (wrong && errors < rounds(mode))
    fprintf(stderr, "kind %d, mode %d, root %d: %d and %d elements, rank %d has no error\n", kind,
            mode, root, n, odd_n, rank);
  CHECK(!wrong || errors == rounds(mode));
  CHECK(any || errors == 0);
  next_one_works(comm);
}

static void all_odd(Kind kind, Mode mode, int n, int odd_n, MPI_Comm comm) {
  one_case(kind, mode, 0, n, odd_n, comm, [](int r) { return r == 0; });
  one_case(kind, mode, size - 1, n, odd_n, comm, [](int r) { return r == 0; });
  one_case(kind, mode, size / 2, n, odd_n, comm, [](int r) { return r >= size / 2; });
  one_case(kind, mode, 0, n, odd_n, comm, [](int) { return false; });
}

/* Two groups: what one side gives, the other does not expect. */
static void between_groups(int n, int odd_n) {
  MPI_Comm half, inter;
  int upper = rank >= size / 2, half_rank;
  OK(MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half));
  OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, 1, &inter));
  OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  OK(MPI_Comm_rank(half, &half_rank));
  const Kind kinds[] = {kBcast,    kGather,    kScatter,   kAllgather, kAllgatherv,
                        kAlltoall, kAlltoallv, kAlltoallw, kReduce,    kAllreduce};
  for (Kind kind : kinds)
    for (int mode = 0; mode < kPersistent; ++mode) {
      int rooted = kind == kBcast || kind == kGather || kind == kScatter || kind == kReduce;
      int root = !rooted ? 0 : upper ? 0 : half_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
      int errors = run({kind, static_cast<Mode>(mode), upper ? odd_n : n, size, root, inter});
      int to_upper = kind == kBcast || kind == kScatter;
      int must = !rooted || (to_upper ? upper : root == MPI_ROOT);
      if (must && !errors)
        fprintf(stderr, "between groups, kind %d, mode %d: %d and %d elements, rank %d no error\n",
                kind, mode, n, odd_n, rank);
      CHECK(!must || errors);
      int one = 1, sum = 0;
      OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
      CHECK(sum == (upper ? size / 2 : size - size / 2));
    }
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&half));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  MPI_Comm comm, ring;
  int periodic = 1;
  const bool system_ranked = getenv("TEST_SYSTEM_RANKED") != nullptr;
  if (system_ranked) {
    /* The ring is made of another one, so that it does not make this one know its group. */
    MPI_Comm other;
    OK(MPIX_Comm_split(MPI_COMM_WORLD, 0, MPIX_SYSTEM_RANKED, &comm));
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &other));
    OK(MPI_Cart_create(other, 1, &size, &periodic, 0, &ring));
    OK(MPI_Comm_free(&other));
  } else {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring));
  }
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN));
  /* Thresholds: 256 (short reductions), 1024 (short broadcasts), 4096, 16384, 32768, 65536 and
   * 262144 elements (algorithms between processes, pieces of vectors). */
  const int lengths[][2] = {{1, 0},           {0, 1},         {1, 2},     {10, 1},
                            {256, 257},       {1025, 1024},   {3, 5000},  {16385, 16384},
                            {5000, 3},        {32768, 32769}, {65536, 1}, {100, 65537},
                            {262144, 262145}, {0, 300000},    {300000, 0}};
  for (int kind = 0; kind < kKinds; ++kind) {
    MPI_Comm on = is_neighbor(static_cast<Kind>(kind)) ? ring : comm;
    for (const auto& pair : lengths) {
      if (static_cast<long>(pair[0] + pair[1]) * size > 1500000) continue;
      all_odd(static_cast<Kind>(kind), kBlocking, pair[0], pair[1], on);
      if (pair[0] + pair[1] > 60) continue;
      all_odd(static_cast<Kind>(kind), kNonblocking, pair[0], pair[1], on);
      all_odd(static_cast<Kind>(kind), kPersistent, pair[0], pair[1], on);
    }
  }
  if (size > 1 && !system_ranked) {
    between_groups(1, 10);
    between_groups(10, 1);
    between_groups(0, 3);
    between_groups(2000, 5000);
  }
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_free(&ring));
  return finish();
}
