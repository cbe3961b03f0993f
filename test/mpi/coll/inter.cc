// Every collective that intercommunicators have, between odd and even ranks and between a prefix
// and the rest.
#include "coll_data.h"

namespace {

struct Two {
  MPI_Comm inter;
  int rank, size, far_size, side, salt;
  bool blocking;
  int64_t from_far(int rank_there, int to, int64_t i) const {
    return element(static_cast<uint64_t>(salt), rank_there + 1000 * (1 - side), to, i);
  }
  int64_t mine(int to, int64_t i) const {
    return element(static_cast<uint64_t>(salt), rank + 1000 * side, to, i);
  }
};

#define CALL(Name, Iname, ...)                   \
  do {                                           \
    if (t.blocking) {                            \
      OK(MPI_##Name(__VA_ARGS__));               \
    } else {                                     \
      MPI_Request request;                       \
      OK(MPI_##Iname(__VA_ARGS__, &request));    \
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); \
    }                                            \
  } while (0)

/// The group `side` has the root, rank `where` of it.
int root_for(const Two& t, int side, int where) {
  if (t.side != side) return where;
  return t.rank == where ? MPI_ROOT : MPI_PROC_NULL;
}

void rooted(const Two& t, int side, int n) {
  int sizes[2] = {t.side == 0 ? t.size : t.far_size, t.side == 0 ? t.far_size : t.size};
  int where = t.salt % sizes[side], root = root_for(t, side, where);
  bool here = t.side == side, is_root = root == MPI_ROOT;
  Layout plain;
  Buffer one(plain, n);
  if (is_root)
    for (int i = 0; i < n; ++i) one.at(i) = t.mine(0, i);
  CALL(Bcast, Ibcast, one.address(), n, MPI_INT64_T, root, t.inter);
  for (int i = 0; i < n && !here; ++i) CHECK(one.at(i) == t.from_far(where, 0, i));
  for (int first_with_gaps = 0; first_with_gaps < 2; ++first_with_gaps) {
    Layouts layouts;
    Buffer mixed(t.rank % 2 == first_with_gaps ? layouts.gapped : layouts.plain, n);
    for (int i = 0; i < n && is_root; ++i) mixed.at(i) = t.mine(3, i);
    CALL(Bcast, Ibcast, mixed.address(), n, mixed.layout.type, root, t.inter);
    for (int i = 0; i < n && !here; ++i) CHECK(mixed.at(i) == t.from_far(where, 3, i));
    mixed.check_gaps();
  }

  Buffer many(plain, int64_t{n} * t.far_size);
  for (int i = 0; i < n; ++i) one.at(i) = t.mine(1, i);
  CALL(Gather, Igather, one.address(), n, MPI_INT64_T, many.address(), n, MPI_INT64_T, root,
       t.inter);
  for (int r = 0; r < t.far_size && is_root; ++r)
    for (int i = 0; i < n; ++i) CHECK(many.at(int64_t{r} * n + i) == t.from_far(r, 1, i));
  std::vector<int> counts(static_cast<size_t>(t.far_size)), displs(static_cast<size_t>(t.far_size));
  for (int r = 0; r < t.far_size; ++r) {
    counts[static_cast<size_t>(r)] = std::min(n, r);
    displs[static_cast<size_t>(r)] = (t.far_size - 1 - r) * n;
  }
  CALL(Gatherv, Igatherv, one.address(), std::min(n, t.rank), MPI_INT64_T, many.address(),
       counts.data(), displs.data(), MPI_INT64_T, root, t.inter);
  for (int r = 0; r < t.far_size && is_root; ++r)
    for (int i = 0; i < std::min(n, r); ++i)
      CHECK(many.at(displs[static_cast<size_t>(r)] + i) == t.from_far(r, 1, i));

  for (int r = 0; r < t.far_size; ++r)
    for (int i = 0; i < n; ++i) many.at(int64_t{r} * n + i) = t.mine(r, i);
  CALL(Scatter, Iscatter, many.address(), n, MPI_INT64_T, one.address(), n, MPI_INT64_T, root,
       t.inter);
  for (int i = 0; i < n && !here; ++i) CHECK(one.at(i) == t.from_far(where, t.rank, i));

  for (int i = 0; i < n; ++i) one.at(i) = t.mine(2, i);
  CALL(Reduce, Ireduce, one.address(), many.address(), n, MPI_INT64_T, MPI_SUM, root, t.inter);
  for (int i = 0; i < n && is_root; ++i) {
    int64_t sum = 0;
    for (int r = 0; r < t.far_size; ++r) sum += t.from_far(r, 2, i);
    CHECK(many.at(i) == sum);
  }
}

void symmetric(const Two& t, int n) {
  Layout plain;
  Buffer out(plain, int64_t{n} * t.far_size), in(plain, int64_t{n} * t.far_size), one(plain, n);
  for (int i = 0; i < n; ++i) one.at(i) = t.mine(3, i);
  CALL(Allgather, Iallgather, one.address(), n, MPI_INT64_T, in.address(), n, MPI_INT64_T, t.inter);
  for (int r = 0; r < t.far_size; ++r)
    for (int i = 0; i < n; ++i) CHECK(in.at(int64_t{r} * n + i) == t.from_far(r, 3, i));
  std::vector<int> counts(static_cast<size_t>(t.far_size)), displs(static_cast<size_t>(t.far_size));
  for (int r = 0; r < t.far_size; ++r) {
    counts[static_cast<size_t>(r)] = std::min(n, r);
    displs[static_cast<size_t>(r)] = (t.far_size - 1 - r) * n;
  }
  CALL(Allgatherv, Iallgatherv, one.address(), std::min(n, t.rank), MPI_INT64_T, in.address(),
       counts.data(), displs.data(), MPI_INT64_T, t.inter);
  for (int r = 0; r < t.far_size; ++r)
    for (int i = 0; i < std::min(n, r); ++i)
      CHECK(in.at(displs[static_cast<size_t>(r)] + i) == t.from_far(r, 3, i));

  for (int r = 0; r < t.far_size; ++r)
    for (int i = 0; i < n; ++i) out.at(int64_t{r} * n + i) = t.mine(r, i);
  CALL(Alltoall, Ialltoall, out.address(), n, MPI_INT64_T, in.address(), n, MPI_INT64_T, t.inter);
  for (int r = 0; r < t.far_size; ++r)
    for (int i = 0; i < n; ++i) CHECK(in.at(int64_t{r} * n + i) == t.from_far(r, t.rank, i));
  std::vector<int> pair(static_cast<size_t>(t.far_size));
  for (int r = 0; r < t.far_size; ++r) {
    pair[static_cast<size_t>(r)] = std::min(n, r + t.rank);
    displs[static_cast<size_t>(r)] = r * n;
  }
  CALL(Alltoallv, Ialltoallv, out.address(), pair.data(), displs.data(), MPI_INT64_T, in.address(),
       pair.data(), displs.data(), MPI_INT64_T, t.inter);
  for (int r = 0; r < t.far_size; ++r)
    for (int i = 0; i < pair[static_cast<size_t>(r)]; ++i)
      CHECK(in.at(int64_t{r} * n + i) == t.from_far(r, t.rank, i));

  Buffer sum(plain, n);
  CALL(Allreduce, Iallreduce, one.address(), sum.address(), n, MPI_INT64_T, MPI_SUM, t.inter);
  for (int i = 0; i < n; ++i) {
    int64_t expected = 0;
    for (int r = 0; r < t.far_size; ++r) expected += t.from_far(r, 3, i);
    CHECK(sum.at(i) == expected);
  }
  // The total is the same on both sides: every rank contributes size * far_size * n elements.
  int64_t total = int64_t{t.size} * t.far_size * n;
  Buffer vector(plain, total), block(plain, int64_t{t.far_size} * n);
  for (int64_t i = 0; i < total; ++i) vector.at(i) = t.mine(4, i);
  CALL(Reduce_scatter_block, Ireduce_scatter_block, vector.address(), block.address(),
       t.far_size * n, MPI_INT64_T, MPI_MAX, t.inter);
  for (int64_t i = 0; i < int64_t{t.far_size} * n; ++i) {
    int64_t expected = INT64_MIN;
    for (int r = 0; r < t.far_size; ++r)
      expected = std::max(expected, t.from_far(r, 4, int64_t{t.rank} * t.far_size * n + i));
    CHECK(block.at(i) == expected);
  }
  std::vector<int> blocks(static_cast<size_t>(t.size), t.far_size * n);
  CALL(Reduce_scatter, Ireduce_scatter, vector.address(), block.address(), blocks.data(),
       MPI_INT64_T, MPI_MIN, t.inter);
  for (int64_t i = 0; i < std::min<int64_t>(3, int64_t{t.far_size} * n); ++i) {
    int64_t expected = INT64_MAX;
    for (int r = 0; r < t.far_size; ++r)
      expected = std::min(expected, t.from_far(r, 4, int64_t{t.rank} * t.far_size * n + i));
    CHECK(block.at(i) == expected);
  }
  if (t.blocking) {
    OK(MPI_Barrier(t.inter));
  } else {
    MPI_Request request;
    OK(MPI_Ibarrier(t.inter, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

void between(int side, int first_leader, int second_leader) {
  MPI_Comm local, inter;
  OK(MPI_Comm_split(MPI_COMM_WORLD, side, 0, &local));
  OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side == 0 ? second_leader : first_leader, 3,
                          &inter));
  Two t{inter, 0, 0, 0, side, 0, true};
  OK(MPI_Comm_rank(inter, &t.rank));
  OK(MPI_Comm_size(inter, &t.size));
  OK(MPI_Comm_remote_size(inter, &t.far_size));
  for (int n : {0, 1, 5, 300}) {
    for (int mode = 0; mode < 2; ++mode) {
      t.blocking = mode == 0;
      ++t.salt;
      rooted(t, 0, n);
      rooted(t, 1, n);
      if (n <= 5 || t.size + t.far_size <= 16) symmetric(t, n);
    }
  }
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&local));
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (size > 1) {
    between(rank % 2, 0, 1);
    int cut = (size + 2) / 3;
    between(rank < cut ? 0 : 1, 0, cut);
  }
  return finish();
}
