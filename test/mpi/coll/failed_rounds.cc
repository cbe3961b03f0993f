/* Persistent collectives that fail in every round, for many rounds: messages of a round carry its
 * number modulo 32, and what is kept of a round that has failed must not be taken for the round 32
 * later. Each rank that receives from one with another length gets an error in every round, sooner
 * or later than the others, and other collectives work between the rounds. Or nothing is between
 * the rounds, and the root is through with many of them before the last rank begins the first. Or
 * members of one process make different calls. On communicators of all kinds: system-ranked ones,
 * whose processes know only their neighbours at first, and intercommunicators, also ones with
 * members of both groups in a process. */
#include <fgmpi.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "mpitest.h"

namespace {

constexpr int kRounds = 70;

enum Kind {
  kBcast,
  kScatterv,
  kGather,
  kAllreduce,
  kAllgather,
  kAlltoallw,
  kReduceScatter,
  kKinds
};

struct Group {
  MPI_Comm comm = MPI_COMM_NULL;
  bool inter = false, second = false; /* second: in the group without the root */
  int rank = 0, size = 0;             /* of the local group */
  int peers = 0;                      /* who data comes from: the remote group, or all */
  bool split_process = false; /* the last rank shares its process with another one of its group */

  Group(MPI_Comm c, MPI_Comm local, bool is_inter, bool is_second)
      : comm(c), inter(is_inter), second(is_second) {
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    peers = size;
    if (inter) OK(MPI_Comm_remote_size(comm, &peers));
    int first;
    OK(MPIX_Get_collocated_startrank(&first));
    std::vector<int> firsts(static_cast<size_t>(size));
    OK(MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, local));
    split_process = std::count(firsts.begin(), firsts.end(), firsts.back()) > 1;
  }
  bool is_root() const { return rank == 0 && !second; }
  bool is_last() const { return rank == size - 1 && second == inter; }
  int root() const { return !inter || second ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL; }
};

struct Memory {
  std::vector<int> in, out, counts, displs, bytes;
  std::vector<MPI_Datatype> types;
  Memory(int n, int peers) : in(static_cast<size_t>(n * peers) + 1, 1), out(in) {
    for (int i = 0; i < peers; ++i) {
      counts.push_back(n);
      displs.push_back(i * n);
      bytes.push_back(i * n * static_cast<int>(sizeof(int)));
      types.push_back(MPI_INT);
    }
  }
};

void make(Kind kind, int n, const Group& g, Memory& m, MPI_Request* request) {
  int *in = m.in.data(), *out = m.out.data(), *counts = m.counts.data(), *displs = m.displs.data();
  int *bytes = m.bytes.data(), root = g.root();
  MPI_Datatype* types = m.types.data();
  switch (kind) {
    case kBcast:
      OK(MPI_Bcast_init(in, n, MPI_INT, root, g.comm, MPI_INFO_NULL, request));
      break;
    case kScatterv:
      OK(MPI_Scatterv_init(in, counts, displs, MPI_INT, out, n, MPI_INT, root, g.comm,
                           MPI_INFO_NULL, request));
      break;
    case kGather:
      OK(MPI_Gather_init(in, n, MPI_INT, out, n, MPI_INT, root, g.comm, MPI_INFO_NULL, request));
      break;
    case kAllreduce:
      OK(MPI_Allreduce_init(in, out, n, MPI_INT, MPI_SUM, g.comm, MPI_INFO_NULL, request));
      break;
    case kAllgather:
      OK(MPI_Allgather_init(in, n, MPI_INT, out, n, MPI_INT, g.comm, MPI_INFO_NULL, request));
      break;
    case kAlltoallw:
      OK(MPI_Alltoallw_init(in, counts, bytes, types, out, counts, bytes, types, g.comm,
                            MPI_INFO_NULL, request));
      break;
    default:
      OK(MPI_Reduce_scatter_init(in, out, counts, MPI_INT, MPI_SUM, g.comm, MPI_INFO_NULL,
                                 request));
  }
}

/* Who must get an error in each round where the root, or else the last rank, is `odd` and gives
 * another length. */
bool must_fail(Kind kind, const Group& g, bool odd_root, bool odd) {
  if (kind == kGather) return g.is_root();
  if (kind == kBcast || kind == kScatterv)
    return odd_root ? (g.inter ? g.second : !g.is_root()) : odd;
  return !g.inter || g.second == odd_root;
}

void run(Kind kind, const char* how, const Group& g, MPI_Request request, bool must, bool ahead) {
  if (ahead && g.is_last()) usleep(50000);
  for (int round = 0; round < kRounds; ++round) {
    if ((round + g.rank) % 7 == 3) usleep(200); /* not all at once */
    OK(MPI_Start(&request));
    const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (must && code == MPI_SUCCESS)
      fprintf(stderr, "kind %d, %s, rank %d%s: no error in round %d\n", kind, how, g.rank,
              g.second ? " of the second group" : "", round);
    CHECK(!must || code != MPI_SUCCESS);
    if (ahead || round % 5 != 0) continue;
    int one = 1, sum = 0;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, g.comm));
    CHECK(sum == g.peers);
  }
  OK(MPI_Request_free(&request));
}

/* The root, or else the last rank, gives `odd_n` elements where the others give `n`. `ahead`: the
 * last rank is late, and nothing is between. */
void rounds(Kind kind, int n, bool odd_root, int odd_n, bool ahead, const Group& g) {
  const bool odd = odd_root ? g.is_root() : g.is_last();
  Memory m(odd ? odd_n : n, g.peers);
  MPI_Request request;
  make(kind, odd ? odd_n : n, g, m, &request);
  run(kind, odd_root ? "root" : "last", g, request, must_fail(kind, g, odd_root, odd), ahead);
}

/* The last rank makes another call than the others of its process. */
void different_calls(const Group& g) {
  int mine = g.split_process && g.second == g.inter, all = 0;
  OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  if (!all) return;
  Memory m(10, g.peers);
  MPI_Request request;
  if (g.is_last())
    OK(MPI_Barrier_init(g.comm, MPI_INFO_NULL, &request));
  else
    make(kAllreduce, 10, g, m, &request);
  run(kAllreduce, "calls", g, request, true, false);
}

/* The kinds from `first` to the one before `end`. */
void all_rounds(const Group& g, Kind first, Kind end, bool all_lengths) {
  const int lengths[][2] = {{10, 11}, {5000, 3}, {3, 5000}};
  for (int kind = first; kind < end; ++kind)
    for (int i = 0; i < (all_lengths ? 3 : 2); ++i)
      for (bool odd_root : {true, false})
        rounds(static_cast<Kind>(kind), lengths[i][0], odd_root, lengths[i][1], false, g);
}

void rounds_ahead(const Group& g, bool of_trees_only) {
  for (bool odd_root : {true, false}) {
    rounds(kBcast, 10, odd_root, 11, true, g);
    if (!of_trees_only) rounds(kScatterv, 3, odd_root, 4, true, g);
    if (g.inter) rounds(kGather, 3, odd_root, 4, true, g);
  }
}

void on_duplicate() {
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  const Group g(comm, comm, false, false);
  all_rounds(g, kBcast, kKinds, true);
  rounds_ahead(g, false);
  different_calls(g);
  OK(MPI_Comm_free(&comm));
}

/* First only collectives that go over its tree; then ones for which every process gets to know the
 * whole group. */
void on_system_ranked() {
  MPI_Comm comm, local;
  OK(MPIX_Comm_split(MPI_COMM_WORLD, 0, MPIX_SYSTEM_RANKED, &comm));
  int rank;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &local));
  const Group g(comm, local, false, false);
  rounds_ahead(g, true);
  all_rounds(g, kBcast, static_cast<Kind>(kBcast + 1), false);
  all_rounds(g, kAllreduce, static_cast<Kind>(kAllreduce + 1), false);
  different_calls(g);
  all_rounds(g, kBcast, kKinds, false);
  rounds_ahead(g, false);
  different_calls(g);
  OK(MPI_Comm_free(&local));
  OK(MPI_Comm_free(&comm));
}

/* Of the ranks for which `second` is so and the others. */
void on_intercommunicator(bool second, int leader_of_second) {
  MPI_Comm local, comm;
  OK(MPI_Comm_split(MPI_COMM_WORLD, second, 0, &local));
  OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, second ? 0 : leader_of_second, 1, &comm));
  const Group g(comm, local, true, second);
  all_rounds(g, kBcast, kReduceScatter, false); /* whose groups must be as large as each other */
  rounds_ahead(g, false);
  different_calls(g);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_free(&local));
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (size > 1) {
    on_duplicate();
    on_system_ranked();
    on_intercommunicator(rank % 2, 1);
    on_intercommunicator(rank >= (size + 1) / 2, (size + 1) / 2);
  }
  return finish();
}
