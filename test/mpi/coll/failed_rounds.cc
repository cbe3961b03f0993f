/* Persistent collectives that fail in every round, for many rounds: messages of a round carry its number modulo 32, and what
 * is kept of a round that has failed must not be taken for the round 32 later. Each rank that receives from one with another
 * length gets an error in every round, sooner or later than the others, and other collectives work between the rounds. Or
 * nothing is between the rounds, and the root is through with many of them before the last rank begins the first. */
#include <unistd.h>

#include <vector>

#include "mpitest.h"

namespace {

constexpr int kRounds = 70;
int g_rank, g_size;

enum Kind { kBcast, kScatterv, kAllgather, kAllreduce, kAlltoallw, kReduceScatter, kKinds };

struct Memory {
  std::vector<int> in, out, counts, displs, bytes;
  std::vector<MPI_Datatype> types;
  explicit Memory(int n) : in(static_cast<size_t>(n * g_size) + 1, 1), out(in) {
    for (int i = 0; i < g_size; ++i) {
      counts.push_back(n);
      displs.push_back(i * n);
      bytes.push_back(i * n * static_cast<int>(sizeof(int)));
      types.push_back(MPI_INT);
    }
  }
};

void make(Kind kind, int n, int root, MPI_Comm comm, Memory& m, MPI_Request* request) {
  int *in = m.in.data(), *out = m.out.data(), *counts = m.counts.data(), *displs = m.displs.data();
  int* bytes = m.bytes.data();
  MPI_Datatype* types = m.types.data();
  switch (kind) {
    case kBcast:
      OK(MPI_Bcast_init(in, n, MPI_INT, root, comm, MPI_INFO_NULL, request));
      break;
    case kScatterv:
      OK(MPI_Scatterv_init(in, counts, displs, MPI_INT, out, n, MPI_INT, root, comm, MPI_INFO_NULL,
                           request));
      break;
    case kAllgather:
      OK(MPI_Allgather_init(in, n, MPI_INT, out, n, MPI_INT, comm, MPI_INFO_NULL, request));
      break;
    case kAllreduce:
      OK(MPI_Allreduce_init(in, out, n, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request));
      break;
    case kAlltoallw:
      OK(MPI_Alltoallw_init(in, counts, bytes, types, out, counts, bytes, types, comm,
                            MPI_INFO_NULL, request));
      break;
    default:
      OK(MPI_Reduce_scatter_init(in, out, counts, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request));
  }
}

/* Rank `odd` gives `odd_n` elements where the others give `n`. `ahead`: the last rank is late, and nothing is between. */
void rounds(Kind kind, int n, int odd, int odd_n, bool ahead, MPI_Comm comm) {
  const int root = 0;
  const bool rooted = kind == kBcast || kind == kScatterv;
  const bool must = rooted ? (odd == root ? g_rank != root : g_rank == odd) : true;
  Memory m(g_rank == odd ? odd_n : n);
  MPI_Request request;
  make(kind, g_rank == odd ? odd_n : n, root, comm, m, &request);
  if (ahead && g_rank == g_size - 1) usleep(50000);
  for (int round = 0; round < kRounds; ++round) {
    if ((round + g_rank) % 7 == 3) usleep(200); /* not all at once */
    OK(MPI_Start(&request));
    const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (must && code == MPI_SUCCESS)
      fprintf(stderr, "kind %d, rank %d: no error in round %d\n", kind, g_rank, round);
    CHECK(!must || code != MPI_SUCCESS);
    if (ahead || round % 5 != 0) continue;
    int one = 1, sum = 0;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == g_size);
  }
  OK(MPI_Request_free(&request));
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &g_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &g_size));
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  const int lengths[][2] = {{10, 11}, {3, 5000}, {5000, 3}};
  for (int kind = 0; g_size > 1 && kind < kKinds; ++kind)
    for (const auto& pair : lengths)
      for (int odd : {0, g_size - 1})
        rounds(static_cast<Kind>(kind), pair[0], odd, pair[1], false, comm);
  for (int odd : {0, g_size - 1}) {
    if (g_size == 1) break;
    rounds(kBcast, 10, odd, 11, true, comm);
    rounds(kScatterv, 3, odd, 4, true, comm);
  }
  OK(MPI_Comm_free(&comm));
  return finish();
}
