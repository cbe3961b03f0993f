// Many collectives outstanding on one communicator, completed in any order by waits and tests;
// persistent ones started again and in another order at each rank; types, operations and
// communicators freed while in use.
#include "coll_data.h"

namespace {

struct World {
  int rank, size;
};

struct Outstanding {
  int kind, root;
  uint64_t salt;
  Buffer in, out;
  std::vector<int> counts, displs;
};

constexpr int kCount = 9;

void start(const World& w, MPI_Comm comm, Outstanding& o, MPI_Request* request) {
  for (int i = 0; i < o.in.count; ++i) o.in.at(i) = element(o.salt, w.rank, i / kCount, i % kCount);
  switch (o.kind) {
    case 0:
      OK(MPI_Ibarrier(comm, request));
      break;
    case 1:
      OK(MPI_Ibcast(o.in.address(), kCount, MPI_INT64_T, o.root, comm, request));
      break;
    case 2:
      OK(MPI_Iallreduce(o.in.address(), o.out.address(), kCount, MPI_INT64_T, MPI_SUM, comm,
                        request));
      break;
    case 3:
      OK(MPI_Iallgather(o.in.address(), kCount, MPI_INT64_T, o.out.address(), kCount, MPI_INT64_T,
                        comm, request));
      break;
    case 4:
      OK(MPI_Ialltoall(o.in.address(), kCount, MPI_INT64_T, o.out.address(), kCount, MPI_INT64_T,
                       comm, request));
      break;
    case 5:
      OK(MPI_Iscan(o.in.address(), o.out.address(), kCount, MPI_INT64_T, MPI_MAX, comm, request));
      break;
    default:
      OK(MPI_Igather(o.in.address(), kCount, MPI_INT64_T, o.out.address(), kCount, MPI_INT64_T,
                     o.root, comm, request));
  }
}

void check(const World& w, Outstanding& o) {
  for (int i = 0; i < kCount; ++i) {
    int64_t sum = 0, max = INT64_MIN;
    for (int r = 0; r < w.size; ++r) sum += element(o.salt, r, 0, i);
    for (int r = 0; r <= w.rank; ++r) max = std::max(max, element(o.salt, r, 0, i));
    if (o.kind == 1) CHECK(o.in.at(i) == element(o.salt, o.root, 0, i));
    if (o.kind == 2) CHECK(o.out.at(i) == sum);
    if (o.kind == 5) CHECK(o.out.at(i) == max);
    for (int r = 0; r < w.size; ++r) {
      if (o.kind == 3 || (o.kind == 6 && w.rank == o.root))
        CHECK(o.out.at(r * kCount + i) == element(o.salt, r, 0, i));
      if (o.kind == 4) CHECK(o.out.at(r * kCount + i) == element(o.salt, r, w.rank, i));
    }
  }
}

std::vector<Outstanding> draw(const World& w, Random& random, int n) {
  std::vector<Outstanding> all;
  Layout plain;
  for (int i = 0; i < n; ++i) {
    int kind = random.below(7), root = random.below(w.size);
    all.push_back({kind,
                   root,
                   random.next() >> 20,
                   Buffer(plain, kCount * w.size),
                   Buffer(plain, kCount * w.size),
                   {},
                   {}});
  }
  return all;
}

void many_outstanding(const World& w, MPI_Comm comm, Random& random) {
  constexpr int n = 40;
  std::vector<Outstanding> all = draw(w, random, n);
  std::vector<MPI_Request> requests(n);
  for (int i = 0; i < n; ++i) {
    start(w, comm, all[static_cast<size_t>(i)], &requests[static_cast<size_t>(i)]);
    // A blocking one in between must not wait for those.
    if (i % 10 == 5) {
      int one = 1, sum = 0;
      OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
      CHECK(sum == w.size);
    }
  }
  Random own(static_cast<uint64_t>(w.rank) + 77);
  std::vector<int> order(n);
  for (int i = 0; i < n; ++i) order[static_cast<size_t>(i)] = i;
  for (int i = n - 1; i > 0; --i)
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(own.below(i + 1))]);
  for (int i = 0; i < n; ++i) {
    MPI_Request* r = &requests[static_cast<size_t>(order[static_cast<size_t>(i)])];
    if (i % 3 == 0) {
      for (int flag = 0; !flag;) OK(MPI_Test(r, &flag, MPI_STATUS_IGNORE));
    } else {
      OK(MPI_Wait(r, MPI_STATUS_IGNORE));
    }
    CHECK(*r == MPI_REQUEST_NULL);
  }
  for (Outstanding& o : all) check(w, o);
}

/// Starts in an order that differs from rank to rank.
void persistent_in_any_order(const World& w, MPI_Comm comm) {
  constexpr int n = 6;
  std::vector<int64_t> in(n), out(n);
  MPI_Request requests[n];
  for (int i = 0; i < n; ++i)
    OK(MPI_Allreduce_init(&in[static_cast<size_t>(i)], &out[static_cast<size_t>(i)], 1, MPI_INT64_T,
                          MPI_SUM, comm, MPI_INFO_NULL, &requests[i]));
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < n; ++i) in[static_cast<size_t>(i)] = 100 * round + i + w.rank;
    for (int i = 0; i < n; ++i) OK(MPI_Start(&requests[(i + w.rank + round) % n]));
    OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < n; ++i)
      CHECK(out[static_cast<size_t>(i)] ==
            int64_t{w.size} * (100 * round + i) + int64_t{w.size} * (w.size - 1) / 2);
  }
  OK(MPI_Startall(n, requests));
  OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
  for (MPI_Request& r : requests) OK(MPI_Request_free(&r));
}

/// An in-place persistent all-to-all takes its data anew at each start.
void persistent_in_place(const World& w, MPI_Comm comm) {
  std::vector<int> data(static_cast<size_t>(w.size));
  MPI_Request request;
  OK(MPI_Alltoall_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data.data(), 1, MPI_INT, comm,
                       MPI_INFO_NULL, &request));
  for (int round = 0; round < 3; ++round) {
    for (int r = 0; r < w.size; ++r)
      data[static_cast<size_t>(r)] = round * 1000000 + w.rank * 1000 + r;
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int r = 0; r < w.size; ++r)
      CHECK(data[static_cast<size_t>(r)] == round * 1000000 + r * 1000 + w.rank);
  }
  OK(MPI_Request_free(&request));
}

/// Everything that the call named is freed at once.
void freed_while_in_use(const World& w) {
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Op op;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Type_contiguous(4, MPI_INT32_T, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Op_create(multiply, 0, &op));
  Matrix mine = matrix(5, w.rank, 0), result, expected = matrix(5, 0, 0);
  for (int r = 1; r < w.size; ++r) expected = expected * matrix(5, r, 0);
  MPI_Request request;
  OK(MPI_Iallreduce(&mine, &result, 1, type, op, comm, &request));
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&type));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(result == expected);
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  World w;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &w.rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &w.size));
  Random random(11);
  for (int i = 0; i < 3; ++i) many_outstanding(w, MPI_COMM_WORLD, random);
  MPI_Comm reversed;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -w.rank, &reversed));
  World back{w.size - 1 - w.rank, w.size};
  many_outstanding(back, reversed, random);
  persistent_in_any_order(back, reversed);
  OK(MPI_Comm_free(&reversed));
  persistent_in_any_order(w, MPI_COMM_WORLD);
  persistent_in_place(w, MPI_COMM_WORLD);
  freed_while_in_use(w);
  return finish();
}
