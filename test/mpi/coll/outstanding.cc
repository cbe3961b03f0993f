// A thousand nonblocking collectives of mixed kinds outstanding on one communicator, completed in
// another order at each rank; others on a duplicate and on an intercommunicator meanwhile; what
// MPI_Request_free may and may not do with collective requests.
#include "coll_data.h"
#include "error_class.h"

namespace {

constexpr int kOutstanding = 1000;

struct One {
  int kind, root;
  int64_t in, out, expected;
  std::vector<int64_t> many;
};

/// What rank r brings to number i.
int64_t brings(int r, int i) { return element(99, r, 0, i); }

int64_t sum_up_to(int last, int i) {
  int64_t sum = 0;
  for (int r = 0; r <= last; ++r) sum += brings(r, i);
  return sum;
}

void start(One& o, int i, int rank, int size, MPI_Comm comm, MPI_Request* request) {
  o.kind = i * 7 % 6;
  o.root = i % size;
  o.in = brings(rank, i);
  o.out = o.expected = -1;
  switch (o.kind) {
    case 0:
      OK(MPI_Ibarrier(comm, request));
      return;
    case 1:
      o.expected = brings(o.root, i);
      o.out = o.in;
      OK(MPI_Ibcast(&o.out, 1, MPI_INT64_T, o.root, comm, request));
      return;
    case 2:
      o.expected = sum_up_to(size - 1, i);
      OK(MPI_Iallreduce(&o.in, &o.out, 1, MPI_INT64_T, MPI_SUM, comm, request));
      return;
    case 3:
      o.expected = sum_up_to(rank, i);
      OK(MPI_Iscan(&o.in, &o.out, 1, MPI_INT64_T, MPI_SUM, comm, request));
      return;
    case 4:
      if (rank == o.root) o.expected = sum_up_to(size - 1, i);
      OK(MPI_Ireduce(&o.in, &o.out, 1, MPI_INT64_T, MPI_SUM, o.root, comm, request));
      return;
    default:
      o.many.assign(static_cast<size_t>(size), -1);
      OK(MPI_Iallgather(&o.in, 1, MPI_INT64_T, o.many.data(), 1, MPI_INT64_T, comm, request));
      return;
  }
}

void check(const One& o, int i) {
  CHECK(o.out == o.expected);
  for (size_t r = 0; r < o.many.size(); ++r) CHECK(o.many[r] == brings(static_cast<int>(r), i));
}

void thousand(int rank, int size, MPI_Comm comm, MPI_Comm other) {
  std::vector<One> all(kOutstanding);
  std::vector<MPI_Request> requests(kOutstanding, MPI_REQUEST_NULL);
  for (int i = 0; i < kOutstanding; ++i)
    start(all[static_cast<size_t>(i)], i, rank, size, comm, &requests[static_cast<size_t>(i)]);
  // Blocking ones beside them, on the same communicator and on another.
  for (MPI_Comm c : {comm, other}) {
    int one = 1, sum = 0;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c));
    CHECK(sum == size);
  }
  Random own(static_cast<uint64_t>(rank) * 31 + 5);
  std::vector<int> order;
  for (int i = 0; i < kOutstanding; ++i) order.push_back(i);
  for (int i = kOutstanding - 1; i > 0; --i)
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(own.below(i + 1))]);
  for (int k = 0; k < kOutstanding; ++k) {
    int i = order[static_cast<size_t>(k)];
    MPI_Request* request = &requests[static_cast<size_t>(i)];
    if (k % 2)
      OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    else
      for (int flag = 0; !flag;) OK(MPI_Test(request, &flag, MPI_STATUS_IGNORE));
    check(all[static_cast<size_t>(i)], i);
  }
}

/// An active nonblocking collective may be neither freed nor cancelled (MPI-4.0 section 6.12); an
/// inactive persistent one may, before its first start and after any, also when the communicator is
/// already freed.
void freed(int rank, int size) {
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Request request, kept;
  OK(MPI_Ibarrier(comm, &request));
  kept = request;
  CHECK(class_of(MPI_Request_free(&kept)) == MPI_ERR_REQUEST);
  CHECK(class_of(MPI_Cancel(&kept)) == MPI_ERR_REQUEST);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

  int in = rank, sum = 0, unused = 0;
  OK(MPI_Allreduce_init(&in, &unused, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  OK(MPI_Allreduce_init(&in, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
  for (int round = 0; round < 200; ++round) {
    in = rank + round;
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(sum == size * (size - 1) / 2 + size * round);
  }
  MPI_Comm freed_before = comm;
  OK(MPI_Comm_free(&freed_before));
  in = 1;
  OK(MPI_Start(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(sum == size);
  OK(MPI_Request_free(&request));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

/// Groups of one and of all the others: a collective each way outstanding at once.
void one_and_the_rest(int rank, int size) {
  MPI_Comm local, inter;
  int side = rank == size - 1;
  OK(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &local));
  OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side ? 0 : size - 1, 4, &inter));
  int down = side ? 77 : -1, in = rank + 1, up = -1, sum = -1;
  MPI_Request requests[3];
  OK(MPI_Ibcast(&down, 1, MPI_INT, side ? MPI_ROOT : 0, inter, &requests[0]));
  OK(MPI_Ireduce(&in, &up, 1, MPI_INT, MPI_SUM, side ? MPI_ROOT : 0, inter, &requests[1]));
  OK(MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, inter, &requests[2]));
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  CHECK(down == 77);
  if (side) CHECK(up == size * (size - 1) / 2);
  CHECK(sum == (side ? size * (size - 1) / 2 : size));
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&local));
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  MPI_Comm dup;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  thousand(rank, size, MPI_COMM_WORLD, dup);
  thousand(rank, size, dup, MPI_COMM_WORLD);
  OK(MPI_Comm_free(&dup));
  freed(rank, size);
  if (size > 1) one_and_the_rest(rank, size);
  return finish();
}
