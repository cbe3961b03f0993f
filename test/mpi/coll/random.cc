// Every collective, blocking, nonblocking and persistent, on random communicators, counts, layouts,
// roots and operations, against results that each rank computes for itself.
#include "coll_data.h"

namespace {

struct Case {
  MPI_Comm comm;
  int rank, size, root, mode;
  uint64_t salt;
  bool in_place;
  Random* random;
  const Layouts* layouts;
};

// Blocking, nonblocking, or persistent: the same arguments.
#define CALL(Name, Iname, ...)                                     \
  do {                                                             \
    MPI_Request request = MPI_REQUEST_NULL;                        \
    if (c.mode == 0) {                                             \
      OK(MPI_##Name(__VA_ARGS__));                                 \
    } else if (c.mode == 1) {                                      \
      OK(MPI_##Iname(__VA_ARGS__, &request));                      \
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                   \
    } else {                                                       \
      OK(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request)); \
      OK(MPI_Start(&request));                                     \
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                   \
      OK(MPI_Request_free(&request));                              \
    }                                                              \
  } while (0)

/// A rank's own layout: neighbours may differ where only signatures must match.
const Layout& layout(const Case& c) {
  Random mine(c.salt * 131 + static_cast<uint64_t>(c.rank));
  mine.next();
  return c.layouts->pick(mine);
}

/// Counts of v forms by rank: what all ranks know.
std::vector<int> uneven(const Case& c, int count) {
  Random r(c.salt * 17 + 5);
  std::vector<int> counts;
  for (int i = 0; i < c.size; ++i) counts.push_back(count == 0 ? 0 : r.below(2 * count));
  return counts;
}
/// Displacements with a hole of one element before each part.
std::vector<int> holes(const std::vector<int>& counts) {
  std::vector<int> displs;
  int at = 1;
  for (int n : counts) {
    displs.push_back(at);
    at += n + 1;
  }
  return displs;
}
int room(const std::vector<int>& counts) {
  int sum = 1;
  for (int n : counts) sum += n + 1;
  return sum;
}

void test_bcast(const Case& c, int count) {
  Buffer b(layout(c), count);
  for (int i = 0; i < count; ++i) b.at(i) = c.rank == c.root ? element(c.salt, c.root, 0, i) : -1;
  CALL(Bcast, Ibcast, b.address(), count, b.layout.type, c.root, c.comm);
  for (int i = 0; i < count; ++i) CHECK(b.at(i) == element(c.salt, c.root, 0, i));
  b.check_gaps();
}

void test_gather(const Case& c, int count, bool scatter) {
  bool is_root = c.rank == c.root, in_place = c.in_place && is_root;
  Buffer one(layout(c), count), many(c.layouts->plain, is_root ? int64_t{count} * c.size : 0);
  if (scatter) {
    for (int r = 0; r < c.size && is_root; ++r)
      for (int i = 0; i < count; ++i) many.at(int64_t{r} * count + i) = element(c.salt, r, 1, i);
    CALL(Scatter, Iscatter, many.address(), count, many.layout.type,
         in_place ? MPI_IN_PLACE : one.address(), count, one.layout.type, c.root, c.comm);
    for (int i = 0; i < count && !in_place; ++i) CHECK(one.at(i) == element(c.salt, c.rank, 1, i));
  } else {
    for (int i = 0; i < count; ++i) one.at(i) = element(c.salt, c.rank, 1, i);
    for (int i = 0; i < count && in_place; ++i) many.at(int64_t{c.rank} * count + i) = one.at(i);
    CALL(Gather, Igather, in_place ? MPI_IN_PLACE : one.address(), count, one.layout.type,
         many.address(), count, many.layout.type, c.root, c.comm);
    for (int r = 0; r < c.size && is_root; ++r)
      for (int i = 0; i < count; ++i)
        CHECK(many.at(int64_t{r} * count + i) == element(c.salt, r, 1, i));
  }
  one.check_gaps();
  many.check_gaps();
}

void test_gatherv(const Case& c, int count, bool scatter) {
  bool is_root = c.rank == c.root, in_place = c.in_place && is_root;
  std::vector<int> counts = uneven(c, count), displs = holes(counts);
  int mine = counts[static_cast<size_t>(c.rank)];
  Buffer one(layout(c), mine), many(layout(c), is_root ? room(counts) : 0);
  auto at = [&](int r, int i) -> int64_t& { return many.at(displs[static_cast<size_t>(r)] + i); };
  if (scatter) {
    for (int r = 0; r < c.size && is_root; ++r)
      for (int i = 0; i < counts[static_cast<size_t>(r)]; ++i) at(r, i) = element(c.salt, r, 2, i);
    CALL(Scatterv, Iscatterv, many.address(), counts.data(), displs.data(), many.layout.type,
         in_place ? MPI_IN_PLACE : one.address(), mine, one.layout.type, c.root, c.comm);
    for (int i = 0; i < mine && !in_place; ++i) CHECK(one.at(i) == element(c.salt, c.rank, 2, i));
  } else {
    for (int i = 0; i < mine; ++i) one.at(i) = element(c.salt, c.rank, 2, i);
    for (int i = 0; i < mine && in_place; ++i) at(c.rank, i) = one.at(i);
    CALL(Gatherv, Igatherv, in_place ? MPI_IN_PLACE : one.address(), mine, one.layout.type,
         many.address(), counts.data(), displs.data(), many.layout.type, c.root, c.comm);
    for (int r = 0; r < c.size && is_root; ++r) {
      CHECK(many.at(displs[static_cast<size_t>(r)] - 1) == Buffer::kUntouched);
      for (int i = 0; i < counts[static_cast<size_t>(r)]; ++i)
        CHECK(at(r, i) == element(c.salt, r, 2, i));
    }
  }
  one.check_gaps();
  many.check_gaps();
}

void test_allgather(const Case& c, int count) {
  Buffer one(layout(c), count), all(layout(c), int64_t{count} * c.size);
  Random other(c.salt + static_cast<uint64_t>(c.rank));
  Buffer many(c.layouts->pick(other), int64_t{count} * c.size);
  for (int i = 0; i < count; ++i)
    one.at(i) = many.at(int64_t{c.rank} * count + i) = element(c.salt, c.rank, 3, i);
  CALL(Allgather, Iallgather, c.in_place ? MPI_IN_PLACE : one.address(), count, one.layout.type,
       many.address(), count, many.layout.type, c.comm);
  for (int r = 0; r < c.size; ++r)
    for (int i = 0; i < count; ++i)
      CHECK(many.at(int64_t{r} * count + i) == element(c.salt, r, 3, i));
  many.check_gaps();
}

void test_allgatherv(const Case& c, int count) {
  std::vector<int> counts = uneven(c, count), displs = holes(counts);
  int mine = counts[static_cast<size_t>(c.rank)];
  Buffer one(layout(c), mine), many(layout(c), room(counts));
  for (int i = 0; i < mine; ++i)
    one.at(i) = many.at(displs[static_cast<size_t>(c.rank)] + i) = element(c.salt, c.rank, 4, i);
  CALL(Allgatherv, Iallgatherv, c.in_place ? MPI_IN_PLACE : one.address(), mine, one.layout.type,
       many.address(), counts.data(), displs.data(), many.layout.type, c.comm);
  for (int r = 0; r < c.size; ++r) {
    CHECK(many.at(displs[static_cast<size_t>(r)] - 1) == Buffer::kUntouched);
    for (int i = 0; i < counts[static_cast<size_t>(r)]; ++i)
      CHECK(many.at(displs[static_cast<size_t>(r)] + i) == element(c.salt, r, 4, i));
  }
  many.check_gaps();
}

void test_alltoall(const Case& c, int count) {
  Buffer out(layout(c), int64_t{count} * c.size), in(c.layouts->plain, int64_t{count} * c.size);
  for (int r = 0; r < c.size; ++r)
    for (int i = 0; i < count; ++i)
      out.at(int64_t{r} * count + i) = in.at(int64_t{r} * count + i) =
          element(c.salt, c.rank, r, i);
  CALL(Alltoall, Ialltoall, c.in_place ? MPI_IN_PLACE : out.address(), count, out.layout.type,
       in.address(), count, in.layout.type, c.comm);
  for (int r = 0; r < c.size; ++r)
    for (int i = 0; i < count; ++i)
      CHECK(in.at(int64_t{r} * count + i) == element(c.salt, r, c.rank, i));
  in.check_gaps();
}

/// What rank `from` sends to rank `to` in the v forms; symmetric, as MPI_IN_PLACE demands.
int pair_count(const Case& c, int from, int to, int count) {
  Random r(c.salt * 29 + static_cast<uint64_t>(from + to) * 3 + static_cast<uint64_t>(from * to));
  r.next();
  return count == 0 ? 0 : r.below(2 * count);
}

void test_alltoallv(const Case& c, int count, bool w) {
  std::vector<int> counts;
  for (int r = 0; r < c.size; ++r) counts.push_back(pair_count(c, c.rank, r, count));
  std::vector<int> displs = holes(counts);
  Buffer out(layout(c), room(counts)), in(c.layouts->gapped, room(counts));
  for (int r = 0; r < c.size; ++r)
    for (int i = 0; i < counts[static_cast<size_t>(r)]; ++i) {
      int64_t at = displs[static_cast<size_t>(r)] + i;
      out.at(at) = in.at(at) = element(c.salt, c.rank, r, i);
    }
  if (w) {
    std::vector<int> out_bytes, in_bytes;
    for (int d : displs) {
      out_bytes.push_back(d * 8 * out.layout.stride);
      in_bytes.push_back(d * 8 * in.layout.stride);
    }
    std::vector<MPI_Datatype> out_types(displs.size(), out.layout.type),
        in_types(displs.size(), in.layout.type);
    CALL(Alltoallw, Ialltoallw, c.in_place ? MPI_IN_PLACE : out.address(), counts.data(),
         out_bytes.data(), out_types.data(), in.address(), counts.data(), in_bytes.data(),
         in_types.data(), c.comm);
  } else {
    CALL(Alltoallv, Ialltoallv, c.in_place ? MPI_IN_PLACE : out.address(), counts.data(),
         displs.data(), out.layout.type, in.address(), counts.data(), displs.data(), in.layout.type,
         c.comm);
  }
  for (int r = 0; r < c.size; ++r)
    for (int i = 0; i < counts[static_cast<size_t>(r)]; ++i)
      CHECK(in.at(displs[static_cast<size_t>(r)] + i) == element(c.salt, r, c.rank, i));
  in.check_gaps();
}

struct Operation {
  MPI_Op op;
  std::function<int64_t(int64_t, int64_t)> apply;
};
Operation pick_operation(Random& r) {
  switch (r.below(4)) {
    case 0:
      return {MPI_SUM, [](int64_t a, int64_t b) { return a + b; }};
    case 1:
      return {MPI_MIN, [](int64_t a, int64_t b) { return std::min(a, b); }};
    case 2:
      return {MPI_MAX, [](int64_t a, int64_t b) { return std::max(a, b); }};
    default:
      return {MPI_BXOR, [](int64_t a, int64_t b) { return a ^ b; }};
  }
}

/// Elements to check: all of few, some of many (each costs the fold of all ranks).
std::vector<int> samples(Random& r, int count) {
  std::vector<int> out;
  for (int i = 0; i < std::min(count, 16); ++i) out.push_back(count <= 16 ? i : r.below(count));
  if (count > 16) out.push_back(count - 1);
  return out;
}

void test_reduce(const Case& c, int count, int form) {
  Operation o = pick_operation(*c.random);
  std::vector<int> check = samples(*c.random, count);
  bool all = form == 1, gets = all || c.rank == c.root, in_place = c.in_place && gets;
  Buffer send(c.layouts->plain, count), recv(c.layouts->plain, gets ? count : 0);
  for (int i = 0; i < count; ++i) {
    send.at(i) = element(c.salt, c.rank, 5, i);
    if (gets) recv.at(i) = send.at(i);
  }
  if (all)
    CALL(Allreduce, Iallreduce, in_place ? MPI_IN_PLACE : send.address(), recv.address(), count,
         MPI_INT64_T, o.op, c.comm);
  else
    CALL(Reduce, Ireduce, in_place ? MPI_IN_PLACE : send.address(), recv.address(), count,
         MPI_INT64_T, o.op, c.root, c.comm);
  for (int i : check) {
    int64_t expected = element(c.salt, 0, 5, i);
    for (int r = 1; r < c.size; ++r) expected = o.apply(expected, element(c.salt, r, 5, i));
    if (gets) CHECK(recv.at(i) == expected);
    CHECK(send.at(i) == element(c.salt, c.rank, 5, i));
  }
  recv.check_gaps();
}

void test_scan(const Case& c, int count, bool exclusive) {
  Operation o = pick_operation(*c.random);
  std::vector<int> check = samples(*c.random, count);
  Buffer send(c.layouts->plain, count), recv(c.layouts->plain, count);
  for (int i = 0; i < count; ++i) send.at(i) = recv.at(i) = element(c.salt, c.rank, 6, i);
  const void* from = c.in_place ? MPI_IN_PLACE : send.address();
  if (exclusive)
    CALL(Exscan, Iexscan, from, recv.address(), count, MPI_INT64_T, o.op, c.comm);
  else
    CALL(Scan, Iscan, from, recv.address(), count, MPI_INT64_T, o.op, c.comm);
  for (int i : check) {
    int64_t expected = element(c.salt, 0, 6, i);
    for (int r = 1; r <= c.rank - (exclusive ? 1 : 0); ++r)
      expected = o.apply(expected, element(c.salt, r, 6, i));
    CHECK(recv.at(i) == expected);  // exscan leaves rank 0's buffer as it was
  }
}

void test_reduce_scatter(const Case& c, int count, bool block) {
  Operation o = pick_operation(*c.random);
  std::vector<int> counts =
      block ? std::vector<int>(static_cast<size_t>(c.size), count) : uneven(c, count);
  int64_t total = 0, before = 0;
  for (int r = 0; r < c.size; ++r) {
    if (r == c.rank) before = total;
    total += counts[static_cast<size_t>(r)];
  }
  int mine = counts[static_cast<size_t>(c.rank)];
  Buffer send(c.layouts->plain, total), recv(c.layouts->plain, c.in_place ? total : mine);
  for (int64_t i = 0; i < total; ++i) {
    send.at(i) = element(c.salt, c.rank, 7, i);
    if (c.in_place) recv.at(i) = send.at(i);
  }
  const void* from = c.in_place ? MPI_IN_PLACE : send.address();
  if (block)
    CALL(Reduce_scatter_block, Ireduce_scatter_block, from, recv.address(), count, MPI_INT64_T,
         o.op, c.comm);
  else
    CALL(Reduce_scatter, Ireduce_scatter, from, recv.address(), counts.data(), MPI_INT64_T, o.op,
         c.comm);
  Random own(c.salt + static_cast<uint64_t>(c.rank));
  for (int i : samples(own, mine)) {
    int64_t expected = element(c.salt, 0, 7, before + i);
    for (int r = 1; r < c.size; ++r)
      expected = o.apply(expected, element(c.salt, r, 7, before + i));
    CHECK(recv.at(i) == expected);
  }
}

/// Operations that do not commute, in every form.
void test_matrices(const Case& c, int count, MPI_Datatype type, MPI_Op op) {
  std::vector<Matrix> send, recv(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) send.push_back(matrix(c.salt, c.rank, i));
  auto product = [&](int last, int i) {
    Matrix m = matrix(c.salt, 0, i);
    for (int r = 1; r <= last; ++r) m = m * matrix(c.salt, r, i);
    return m;
  };
  std::vector<int> check = samples(*c.random, count);
  CALL(Allreduce, Iallreduce, send.data(), recv.data(), count, type, op, c.comm);
  for (int i : check) CHECK(recv[static_cast<size_t>(i)] == product(c.size - 1, i));
  CALL(Reduce, Ireduce, send.data(), recv.data(), count, type, op, c.root, c.comm);
  for (int i : check)
    CHECK(c.rank != c.root || recv[static_cast<size_t>(i)] == product(c.size - 1, i));
  CALL(Scan, Iscan, send.data(), recv.data(), count, type, op, c.comm);
  for (int i : check) CHECK(recv[static_cast<size_t>(i)] == product(c.rank, i));
  CALL(Exscan, Iexscan, send.data(), recv.data(), count, type, op, c.comm);
  for (int i : check) CHECK(c.rank == 0 || recv[static_cast<size_t>(i)] == product(c.rank - 1, i));
  if (count > 100) return;
  std::vector<Matrix> vectors;
  for (int i = 0; i < count * c.size; ++i) vectors.push_back(matrix(c.salt, c.rank, i));
  CALL(Reduce_scatter_block, Ireduce_scatter_block, vectors.data(), recv.data(), count, type, op,
       c.comm);
  for (int i : check)
    CHECK(recv[static_cast<size_t>(i)] == product(c.size - 1, c.rank * count + i));
}

void run_one(Case& c, int which, int count, MPI_Datatype matrices, MPI_Op product) {
  int each =
      std::max(count / c.size, std::min(count, 3));  // of forms that have a part for every rank
  switch (which) {
    case 0:
      return test_bcast(c, count);
    case 1:
      return test_gather(c, each, false);
    case 2:
      return test_gather(c, each, true);
    case 3:
      return test_gatherv(c, each, false);
    case 4:
      return test_gatherv(c, each, true);
    case 5:
      return test_allgather(c, each);
    case 6:
      return test_allgatherv(c, each);
    case 7:
      return test_alltoall(c, each);
    case 8:
      return test_alltoallv(c, each, false);
    case 9:
      return test_alltoallv(c, each, true);
    case 10:
      return test_reduce(c, count, 0);
    case 11:
      return test_reduce(c, count, 1);
    case 12:
      return test_scan(c, count, false);
    case 13:
      return test_scan(c, count, true);
    case 14:
      return test_reduce_scatter(c, each, false);
    case 15:
      return test_reduce_scatter(c, each, true);
    default:
      return test_matrices(c, std::min(count, 1000), matrices, product);
  }
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int world;
  OK(MPI_Comm_size(MPI_COMM_WORLD, &world));
  uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
  Random random(seed + static_cast<uint64_t>(world));
  {
    Layouts layouts;
    MPI_Datatype matrices;
    MPI_Op product;
    OK(MPI_Type_contiguous(4, MPI_INT32_T, &matrices));
    OK(MPI_Type_commit(&matrices));
    OK(MPI_Op_create(multiply, 0, &product));
    std::vector<Shape> shapes = make_shapes(random);
    int rounds = argc > 2 ? atoi(argv[2]) : world > 64 ? 2 : 4;
    const int counts[] = {0, 1, 7, 1000, 100003};
    for (int round = 0; round < rounds; ++round)
      for (const Shape& shape : shapes)
        for (int which = 0; which < 17; ++which) {
          // Drawn by all ranks alike, members or not.
          uint64_t salt = random.next() >> 20;
          int mode = random.below(3), in_place = random.below(3) == 0, root = random.below(1 << 20);
          int count = counts[random.below(world <= 16 ? 5 : 4)];
          if (shape.comm == MPI_COMM_NULL) continue;
          Random own(salt);
          Case c{shape.comm, 0, 0, 0, mode, salt, in_place != 0, &own, &layouts};
          OK(MPI_Comm_rank(c.comm, &c.rank));
          OK(MPI_Comm_size(c.comm, &c.size));
          c.root = root % c.size;
          run_one(c, which, count, matrices, product);
        }
    free_shapes(shapes);
    OK(MPI_Op_free(&product));
    OK(MPI_Type_free(&matrices));
  }
  return finish();
}
