/* A nonblocking or persistent collective is done with the caller's arrays of counts, displacements
 * and types when the call returns, and with a datatype that is freed then: the arrays are
 * overwritten and the type is freed before anybody can have moved data. */
#include <cstring>
#include <vector>

#include "mpitest.h"

static int rank, size;

/* How many elements rank `from` has for rank `to`, in one of several patterns. */
static int count_of(int pattern, int from, int to) {
  switch (pattern) {
    case 0:
      return 3;
    case 1:
      return to < size / 2 ? 1 : 4;
    case 2:
      return (from * 7 + to * 13 + from * to) % 5;
    default:
      return (from + to) % 3 == 0 ? 2000 : from ^ to;
  }
}
static int value_of(int from, int to, int i) { return from * 1000003 + to * 1009 + i; }

/* One side's arrays; displacements ascend, or descend with gaps, in elements or bytes. */
struct Side {
  std::vector<int> counts, displs, data;
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Aint> far;
  std::vector<MPI_Count> wide_counts;
  std::vector<MPI_Aint> wide_displs;
  std::vector<int> kept_counts, kept_displs; /* ours, in elements */
  template <class F>
  Side(int pattern, int backwards, int unit, MPI_Datatype type, F&& count) {
    int total = 0;
    for (int r = 0; r < size; ++r) {
      counts.push_back(count(r));
      displs.push_back(total);
      total += counts[r] + backwards * (r % 3);
    }
    if (backwards)
      for (int r = 0; r < size; ++r) displs[r] = total - displs[r] - counts[r];
    (void)pattern;
    data.assign(static_cast<size_t>(total) + 1, -1);
    kept_counts = counts;
    kept_displs = displs;
    for (int r = 0; r < size; ++r) {
      displs[r] *= unit;
      types.push_back(counts[r] ? type : MPI_DATATYPE_NULL);
    }
    wide_counts.assign(counts.begin(), counts.end());
    wide_displs.assign(displs.begin(), displs.end());
  }
  void spoil() {
    for (int r = 0; r < size; ++r) {
      counts[r] = displs[r] = -999;
      wide_counts[r] = wide_displs[r] = INT64_MIN;
      types[r] = MPI_DATATYPE_NULL;
    }
    std::vector<int>().swap(counts);
    std::vector<int>().swap(displs);
    std::vector<MPI_Datatype>().swap(types);
    std::vector<MPI_Count>().swap(wide_counts);
    std::vector<MPI_Aint>().swap(wide_displs);
  }
  int* part(int r) { return data.data() + kept_displs[r]; }
  void fill(int from_me) {
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < kept_counts[r]; ++i) part(r)[i] = from_me ? value_of(rank, r, i) : 0;
  }
  template <class From, class To>
  void check(From&& from, To&& to) {
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < kept_counts[r]; ++i) CHECK(part(r)[i] == value_of(from(r), to(r), i));
  }
};

/* A derived type of one int, freed after the call. */
static MPI_Datatype one_int(void) {
  MPI_Datatype type;
  OK(MPI_Type_contiguous(1, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  return type;
}

/* Starts what was called, some time after its arrays have gone, as often as it may be. */
template <class Fill, class Check>
static void finish_it(int persistent, MPI_Request* request, Fill&& fill, Check&& check) {
  for (int round = 0; round < 1 + persistent; ++round) {
    if (round > 0) fill();
    if (persistent) OK(MPI_Start(request));
    OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    check();
  }
  if (persistent) OK(MPI_Request_free(request));
}

static void all_to_all(int pattern, int backwards, int form) {
  int persistent = form & 1, wide = form & 2, typed = form & 4;
  MPI_Datatype type = one_int();
  int unit = typed ? static_cast<int>(sizeof(int)) : 1;
  Side send(pattern, backwards, unit, type, [&](int r) { return count_of(pattern, rank, r); });
  Side recv(pattern, !backwards, unit, type, [&](int r) { return count_of(pattern, r, rank); });
  int *s = send.data.data(), *t = recv.data.data();
  MPI_Request request;
  MPI_Comm comm = MPI_COMM_WORLD;
  send.fill(1);
#define V \
  send.counts.data(), send.displs.data(), type, t, recv.counts.data(), recv.displs.data(), type
#define VC                                                                            \
  send.wide_counts.data(), send.wide_displs.data(), type, t, recv.wide_counts.data(), \
      recv.wide_displs.data(), type
#define W                                                                           \
  send.counts.data(), send.displs.data(), send.types.data(), t, recv.counts.data(), \
      recv.displs.data(), recv.types.data()
#define WC                                                                                         \
  send.wide_counts.data(), send.wide_displs.data(), send.types.data(), t, recv.wide_counts.data(), \
      recv.wide_displs.data(), recv.types.data()
  if (!typed && !wide && !persistent) OK(MPI_Ialltoallv(s, V, comm, &request));
  if (!typed && wide && !persistent) OK(MPI_Ialltoallv_c(s, VC, comm, &request));
  if (!typed && !wide && persistent) OK(MPI_Alltoallv_init(s, V, comm, MPI_INFO_NULL, &request));
  if (!typed && wide && persistent) OK(MPI_Alltoallv_init_c(s, VC, comm, MPI_INFO_NULL, &request));
  if (typed && !wide && !persistent) OK(MPI_Ialltoallw(s, W, comm, &request));
  if (typed && wide && !persistent) OK(MPI_Ialltoallw_c(s, WC, comm, &request));
  if (typed && !wide && persistent) OK(MPI_Alltoallw_init(s, W, comm, MPI_INFO_NULL, &request));
  if (typed && wide && persistent) OK(MPI_Alltoallw_init_c(s, WC, comm, MPI_INFO_NULL, &request));
  send.spoil();
  recv.spoil();
  OK(MPI_Type_free(&type));
  MPI_Datatype other; /* may get the freed one's handle */
  OK(MPI_Type_vector(2, 1, 5, MPI_DOUBLE, &other));
  OK(MPI_Type_commit(&other));
  finish_it(
      persistent, &request, [&] { recv.fill(0); },
      [&] { recv.check([](int r) { return r; }, [](int) { return rank; }); });
  OK(MPI_Type_free(&other));
}

static void gathers(int pattern, int backwards, int persistent) {
  MPI_Datatype type = one_int();
  MPI_Comm comm = MPI_COMM_WORLD;
  int mine = count_of(pattern, 0, rank), root = size - 1;
  std::vector<int> own(static_cast<size_t>(mine) + 1), back(static_cast<size_t>(mine) + 1, -1);
  for (int i = 0; i < mine; ++i) own[i] = value_of(rank, 0, i);
  auto count = [&](int r) { return count_of(pattern, 0, r); };
  auto self = [](int r) { return r; };
  auto zero = [](int) { return 0; };
  {
    Side all(pattern, backwards, 1, type, count);
    MPI_Request request;
    if (persistent)
      OK(MPI_Allgatherv_init(own.data(), mine, type, all.data.data(), all.counts.data(),
                             all.displs.data(), type, comm, MPI_INFO_NULL, &request));
    else
      OK(MPI_Iallgatherv(own.data(), mine, type, all.data.data(), all.counts.data(),
                         all.displs.data(), type, comm, &request));
    all.spoil();
    finish_it(
        persistent, &request, [&] { all.fill(0); }, [&] { all.check(self, zero); });
  }
  {
    Side all(pattern, backwards, 1, type, count);
    MPI_Request request;
    if (persistent)
      OK(MPI_Gatherv_init(own.data(), mine, type, all.data.data(), all.counts.data(),
                          all.displs.data(), type, root, comm, MPI_INFO_NULL, &request));
    else
      OK(MPI_Igatherv(own.data(), mine, type, all.data.data(), all.counts.data(), all.displs.data(),
                      type, root, comm, &request));
    all.spoil();
    finish_it(
        persistent, &request, [&] { all.fill(0); },
        [&] { rank == root ? all.check(self, zero) : (void)0; });
  }
  {
    Side all(pattern, backwards, 1, type, count);
    MPI_Request request;
    all.fill(1);
    if (persistent)
      OK(MPI_Scatterv_init(all.data.data(), all.counts.data(), all.displs.data(), type, back.data(),
                           mine, type, root, comm, MPI_INFO_NULL, &request));
    else
      OK(MPI_Iscatterv(all.data.data(), all.counts.data(), all.displs.data(), type, back.data(),
                       mine, type, root, comm, &request));
    all.spoil();
    OK(MPI_Type_free(&type));
    finish_it(
        persistent, &request, [&] { std::fill(back.begin(), back.end(), -1); },
        [&] {
          for (int i = 0; i < mine; ++i) CHECK(back[i] == value_of(root, rank, i));
        });
  }
  {
    Side all(pattern, 0, 1, MPI_INT, count);
    MPI_Request request;
    std::fill(all.data.begin(), all.data.end(), rank + 1);
    if (persistent)
      OK(MPI_Reduce_scatter_init(all.data.data(), back.data(), all.counts.data(), MPI_INT, MPI_SUM,
                                 comm, MPI_INFO_NULL, &request));
    else
      OK(MPI_Ireduce_scatter(all.data.data(), back.data(), all.counts.data(), MPI_INT, MPI_SUM,
                             comm, &request));
    all.spoil();
    finish_it(
        persistent, &request, [&] { std::fill(back.begin(), back.end(), -1); },
        [&] {
          for (int i = 0; i < mine; ++i) CHECK(back[i] == size * (size + 1) / 2);
        });
  }
}

static void neighbors(int persistent) {
  MPI_Comm ring;
  MPI_Request request;
  int periodic = 1, left = (rank + size - 1) % size, right = (rank + 1) % size;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring));
  for (int typed = 0; typed < 2; ++typed) {
    MPI_Datatype type = one_int();
    int send[3] = {rank, rank + 100, rank + 101}, recv[3] = {-1, -1, -1};
    std::vector<int> counts{1, 2}, displs{0, 1}, from{2, 1}, at{0, 2};
    std::vector<MPI_Aint> bytes{0, 4}, bytes_at{0, 8};
    std::vector<MPI_Datatype> types{type, type};
    if (typed && persistent)
      OK(MPI_Neighbor_alltoallw_init(send, counts.data(), bytes.data(), types.data(), recv,
                                     from.data(), bytes_at.data(), types.data(), ring,
                                     MPI_INFO_NULL, &request));
    else if (typed)
      OK(MPI_Ineighbor_alltoallw(send, counts.data(), bytes.data(), types.data(), recv, from.data(),
                                 bytes_at.data(), types.data(), ring, &request));
    else if (persistent)
      OK(MPI_Neighbor_alltoallv_init(send, counts.data(), displs.data(), type, recv, from.data(),
                                     at.data(), type, ring, MPI_INFO_NULL, &request));
    else
      OK(MPI_Ineighbor_alltoallv(send, counts.data(), displs.data(), type, recv, from.data(),
                                 at.data(), type, ring, &request));
    counts = displs = from = at = {-7, -7};
    bytes = bytes_at = {-7, -7};
    types = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    OK(MPI_Type_free(&type));
    finish_it(
        persistent, &request, [&] { memset(recv, 0, sizeof recv); },
        [&] { CHECK(recv[0] == left + 100 && recv[1] == left + 101 && recv[2] == right); });
  }
  OK(MPI_Comm_free(&ring));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (int pattern = 0; pattern < 4; ++pattern)
    for (int backwards = 0; backwards < 2; ++backwards) {
      for (int form = 0; form < 8; ++form) all_to_all(pattern, backwards, form);
      for (int persistent = 0; persistent < 2; ++persistent)
        gathers(pattern, backwards, persistent);
    }
  for (int persistent = 0; persistent < 2; ++persistent) neighbors(persistent);
  return finish();
}
