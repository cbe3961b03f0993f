// Opened groups: movements give what the plain collective would, whoever of the members has opened
// what: some ranks use the three calls, others call the plain collective in the same place, and
// others still open and close in every round. Arguments change under way, arrays also by their
// values alone. What is expected is computed from the seed of the round. Persistent collectives,
// which keep multicast groups in the same way, are here too.
#include <fgmpi.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "mpitest.h"

namespace {

int g_rank, g_size;
MPI_Comm g_comm;

uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}
uint64_t number(uint64_t a, uint64_t b = 0, uint64_t c = 0) {
  return mix(mix(mix(a + 1) + b + 1) + c + 1);
}
/// Element i of what `from` has for `to` in a round.
int value(int round, int from, int to, int i) {
  return static_cast<int>(number(static_cast<uint64_t>(round),
                                 static_cast<uint64_t>(from * 4096 + to),
                                 static_cast<uint64_t>(i)) &
                          0x7fffffff);
}

/// How this rank makes the calls of a series.
enum Way { kPlain, kOpened, kOpenEachTime, kWays };
Way way_of(int series) {
  return static_cast<Way>(number(77, static_cast<uint64_t>(series), static_cast<uint64_t>(g_rank)) %
                          kWays);
}
/// Rounds of a series, with the same arguments but where `changes` says.
constexpr int kRounds = 5;
/// The number that arguments of this round are made of: it changes in the fourth round.
uint64_t arguments_of(int series, int round) {
  return number(static_cast<uint64_t>(series), round >= 3 ? 1 : 0);
}

#define MOVE(NAME, ...)                                                                  \
  do {                                                                                   \
    if (way == kPlain) {                                                                 \
      OK(MPI_##NAME(__VA_ARGS__));                                                       \
    } else {                                                                             \
      if (way == kOpenEachTime || round == 0) OK(MPIX_##NAME##_open_group(__VA_ARGS__)); \
      OK(MPIX_##NAME##_data_movement(__VA_ARGS__));                                      \
      if (way == kOpenEachTime || round == kRounds - 1)                                  \
        OK(MPIX_##NAME##_close_group(__VA_ARGS__));                                      \
    }                                                                                    \
  } while (0)

void bcast(int series, int most) {
  const Way way = way_of(series);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t seed = arguments_of(series, round);
    const int root = static_cast<int>(number(seed, 1) % static_cast<uint64_t>(g_size));
    const int count = static_cast<int>(number(seed, 2) % static_cast<uint64_t>(most));
    // Members give the same data by different types.
    const bool pairs = (g_rank + series) % 2 == 0 && count % 2 == 0;
    MPI_Datatype type = MPI_INT;
    if (pairs) {
      OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
      OK(MPI_Type_commit(&type));
    }
    const size_t stride = pairs ? 2 : 1;
    std::vector<int> buffer(static_cast<size_t>(count) * 2 + 2, -1);
    // A vector of two ints with a hole has an extent of three ints.
    auto at = [&](int i) {
      return pairs ? static_cast<size_t>(i / 2) * 3 + static_cast<size_t>(i % 2) * stride
                   : static_cast<size_t>(i);
    };
    if (g_rank == root)
      for (int i = 0; i < count; ++i) buffer[at(i)] = value(round, root, series, i);
    MOVE(Bcast, buffer.data(), pairs ? count / 2 : count, type, root, g_comm);
    for (int i = 0; i < count; ++i) CHECK(buffer[at(i)] == value(round, root, series, i));
    if (pairs) OK(MPI_Type_free(&type));
  }
}

void scatter(int series, int most) {
  const Way way = way_of(series);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t seed = arguments_of(series, round);
    const int root = static_cast<int>(number(seed, 1) % static_cast<uint64_t>(g_size));
    const int count = static_cast<int>(number(seed, 2) % static_cast<uint64_t>(most));
    std::vector<int> all(static_cast<size_t>(count * g_size) + 1),
        mine(static_cast<size_t>(count) + 1);
    for (int r = 0; r < g_size; ++r)
      for (int i = 0; i < count; ++i)
        all[static_cast<size_t>(r * count + i)] = value(round, root, r, i);
    const bool in_place = g_rank == root && series % 3 == 0;
    void* to = in_place ? MPI_IN_PLACE : mine.data();
    MOVE(Scatter, all.data(), count, MPI_INT, to, count, MPI_INT, root, g_comm);
    for (int i = 0; !in_place && i < count; ++i)
      CHECK(mine[static_cast<size_t>(i)] == value(round, root, g_rank, i));
  }
}

/// Counts with many zeros, and displacements with gaps.
void lay_out(uint64_t seed, int most, std::vector<int>* counts, std::vector<int>* displs,
             int* total) {
  int at = 0;
  counts->resize(static_cast<size_t>(g_size));
  displs->resize(static_cast<size_t>(g_size));
  for (int r = 0; r < g_size; ++r) {
    const uint64_t n = number(seed, 3, static_cast<uint64_t>(r));
    const int count = n % 3 == 0 ? 0 : static_cast<int>((n >> 8) % static_cast<uint64_t>(most));
    (*counts)[static_cast<size_t>(r)] = count;
    (*displs)[static_cast<size_t>(r)] = at;
    at += count + static_cast<int>(n >> 40 & 1);
  }
  *total = at;
}

void scatterv(int series, int most) {
  const Way way = way_of(series);
  std::vector<int> counts, displs;  // the same arrays, with other values
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t seed = arguments_of(series, round);
    const int root =
        static_cast<int>(number(static_cast<uint64_t>(series), 9) % static_cast<uint64_t>(g_size));
    int total;
    lay_out(seed, most, &counts, &displs, &total);
    std::vector<int> all(static_cast<size_t>(total) + 1, -1);
    for (size_t r = 0; r < counts.size(); ++r)
      for (int i = 0; i < counts[r]; ++i)
        all[static_cast<size_t>(displs[r] + i)] = value(round, root, static_cast<int>(r), i);
    const int count = counts[static_cast<size_t>(g_rank)];
    std::vector<int> mine(static_cast<size_t>(count) + 1);
    const bool is_root = g_rank == root;
    MOVE(Scatterv, is_root ? all.data() : nullptr, is_root ? counts.data() : nullptr,
         is_root ? displs.data() : nullptr, MPI_INT, mine.data(), count, MPI_INT, root, g_comm);
    for (int i = 0; i < count; ++i)
      CHECK(mine[static_cast<size_t>(i)] == value(round, root, g_rank, i));
  }
}

void allgatherv(int series, int most) {
  const Way way = way_of(series);
  std::vector<int> counts, displs;
  for (int round = 0; round < kRounds; ++round) {
    int total;
    lay_out(arguments_of(series, round), most, &counts, &displs, &total);
    std::vector<int> all(static_cast<size_t>(total) + 1, -1);
    const int count = counts[static_cast<size_t>(g_rank)];
    std::vector<int> mine(static_cast<size_t>(count) + 1);
    for (int i = 0; i < count; ++i) mine[static_cast<size_t>(i)] = value(round, g_rank, 0, i);
    MOVE(Allgatherv, mine.data(), count, MPI_INT, all.data(), counts.data(), displs.data(), MPI_INT,
         g_comm);
    for (size_t r = 0; r < counts.size(); ++r)
      for (int i = 0; i < counts[r]; ++i)
        CHECK(all[static_cast<size_t>(displs[r] + i)] == value(round, static_cast<int>(r), 0, i));
  }
}

void alltoallw(int series, int most) {
  const Way way = way_of(series);
  const size_t n = static_cast<size_t>(g_size);
  std::vector<int> send_counts(n), send_displs(n), recv_counts(n), recv_displs(n);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t seed = arguments_of(series, round);
    auto count_of = [&](int from, int to) {
      const uint64_t x = number(seed, static_cast<uint64_t>(from), static_cast<uint64_t>(to) + 5);
      return x % 3 == 0 ? 0 : static_cast<int>((x >> 8) % static_cast<uint64_t>(most));
    };
    std::vector<MPI_Datatype> send_types(n), recv_types(n);
    int out = 0, in = 0;
    for (int r = 0; r < g_size; ++r) {
      const size_t i = static_cast<size_t>(r);
      const bool as_floats = number(seed, 6, static_cast<uint64_t>(g_rank ^ r)) % 2 == 0;
      send_types[i] = recv_types[i] = as_floats ? MPI_FLOAT : MPI_INT;
      send_counts[i] = count_of(g_rank, r);
      recv_counts[i] = count_of(r, g_rank);
      send_displs[i] = out * 4;
      recv_displs[i] = in * 4;
      out += send_counts[i];
      in += recv_counts[i];
    }
    std::vector<int> sent(static_cast<size_t>(out) + 1), got(static_cast<size_t>(in) + 1, -1);
    for (int r = 0; r < g_size; ++r)
      for (int i = 0; i < send_counts[static_cast<size_t>(r)]; ++i)
        sent[static_cast<size_t>(send_displs[static_cast<size_t>(r)] / 4 + i)] =
            value(round, g_rank, r, i);
    MOVE(Alltoallw, sent.data(), send_counts.data(), send_displs.data(), send_types.data(),
         got.data(), recv_counts.data(), recv_displs.data(), recv_types.data(), g_comm);
    for (int r = 0; r < g_size; ++r)
      for (int i = 0; i < recv_counts[static_cast<size_t>(r)]; ++i)
        CHECK(got[static_cast<size_t>(recv_displs[static_cast<size_t>(r)] / 4 + i)] ==
              value(round, r, g_rank, i));
  }
}

/// Many groups open at once, each with other members and with more data than fits a packet;
/// movements of all of them in turn, some more often than others; every third rank only makes plain
/// calls.
void many() {
  constexpr int kGroups = 12, kCount = 5000;
  const size_t n = static_cast<size_t>(g_size);
  const bool plain = g_rank % 3 == 2;
  std::vector<std::vector<int>> counts(kGroups, std::vector<int>(n)), displs = counts;
  std::vector<int> all(n * kCount), mine(kCount);
  auto takes = [](int group, int rank) { return (rank * 7 + group) % (2 + group % 4) == 0; };
  auto move = [&](int group, int way, int round) {
    const size_t k = static_cast<size_t>(group);
    const int root = group % g_size, count = takes(group, g_rank) ? kCount + group : 0;
    mine.assign(static_cast<size_t>(kCount + kGroups), -1);
    for (size_t r = 0; r < n && way == 1; ++r)
      for (int i = 0; i < counts[k][r]; ++i)
        all[static_cast<size_t>(displs[k][r] + i)] = value(round, group, static_cast<int>(r), i);
    auto* call = plain      ? MPI_Scatterv
                 : way == 0 ? MPIX_Scatterv_open_group
                 : way == 1 ? MPIX_Scatterv_data_movement
                            : MPIX_Scatterv_close_group;
    if (plain && way != 1) return;
    OK(call(all.data(), counts[k].data(), displs[k].data(), MPI_INT, mine.data(), count, MPI_INT,
            root, g_comm));
    for (int i = 0; way == 1 && i < count; ++i)
      CHECK(mine[static_cast<size_t>(i)] == value(round, group, g_rank, i));
  };
  all.resize(n * (kCount + kGroups));
  for (int group = 0; group < kGroups; ++group) {
    const size_t k = static_cast<size_t>(group);
    for (int r = 0, at = 0; r < g_size; ++r) {
      displs[k][static_cast<size_t>(r)] = at;
      at += counts[k][static_cast<size_t>(r)] = takes(group, r) ? kCount + group : 0;
    }
    move(group, 0, 0);
  }
  for (int round = 0; round < 3; ++round)
    for (int group = 0; group < kGroups; ++group)
      for (int i = 0; i <= group % 2; ++i) move(group, 1, round * 2 + i);
  for (int group = kGroups; group-- > 0;) move(group, 2, 0);
}

/// All-to-alls in which only the ranks of an interval get something, more than fits a packet:
/// groups of such intervals are open at once; every fourth rank makes plain calls. In the last
/// rounds the intervals are others, in the same arrays.
void to_intervals() {
  constexpr int kGroups = 3, kCount = 700;
  const size_t n = static_cast<size_t>(g_size);
  const bool plain = g_rank % 4 == 3;
  struct Arrays {
    std::vector<int> send_counts, send_displs, recv_counts, recv_displs;
  };
  std::vector<Arrays> groups(kGroups);
  std::vector<MPI_Datatype> types(n, MPI_INT);
  std::vector<int> sent(n * kCount), got(n * kCount);
  auto is_in = [](int group, int rank) {
    const int half = g_size / 2;
    return group % 4 == 0 ? rank >= half : group % 4 == 1 ? rank < half : rank * 3 < g_size;
  };
  auto lay_out_group = [&](int group, int interval) {
    Arrays& a = groups[static_cast<size_t>(group)];
    a.send_counts.assign(n, 0);
    a.recv_counts.assign(n, is_in(interval, g_rank) ? kCount - group : 0);
    a.send_displs.resize(n), a.recv_displs.resize(n);
    for (size_t r = 0; r < n; ++r) {
      if (is_in(interval, static_cast<int>(r))) a.send_counts[r] = kCount - group;
      a.send_displs[r] = a.recv_displs[r] = static_cast<int>(r * kCount * sizeof(int));
    }
  };
  auto call = [&](decltype(MPI_Alltoallw)* function, int group) {
    const Arrays& a = groups[static_cast<size_t>(group)];
    OK(function(sent.data(), a.send_counts.data(), a.send_displs.data(), types.data(), got.data(),
                a.recv_counts.data(), a.recv_displs.data(), types.data(), g_comm));
  };
  for (int group = 0; group < kGroups; ++group) {
    lay_out_group(group, group);
    if (!plain) call(MPIX_Alltoallw_open_group, group);
  }
  for (int round = 0; round < 6; ++round)
    for (int group = 0; group < kGroups; ++group) {
      const int interval = round < 4 ? group : group + 1;
      lay_out_group(group, interval);
      for (int r = 0; r < g_size; ++r)
        for (int i = 0; i < kCount; ++i)
          sent[static_cast<size_t>(r * kCount + i)] = value(round, g_rank, r + group, i);
      got.assign(got.size(), -1);
      call(plain ? MPI_Alltoallw : MPIX_Alltoallw_data_movement, group);
      const int count = is_in(interval, g_rank) ? kCount - group : 0;
      for (int r = 0; r < g_size; ++r)
        for (int i = 0; i < kCount; ++i)
          CHECK(got[static_cast<size_t>(r * kCount + i)] ==
                (i < count ? value(round, r, g_rank + group, i) : -1));
    }
  for (int group = 0; !plain && group < kGroups; ++group) call(MPIX_Alltoallw_close_group, group);
}

/// How many multicast groups the process has entered.
unsigned long long groups_entered() {
  static MPI_T_pvar_session session;
  static MPI_T_pvar_handle handle;
  if (session == MPI_T_PVAR_SESSION_NULL) {
    int provided, index, count;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_get_index("multicast_groups", MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count));
  }
  unsigned long long value;
  OK(MPI_T_pvar_read(session, handle, &value));
  return value;
}

/// Persistent collectives of different members, all of them under way at once, which each rank
/// starts and completes in an order of its own. `scatters` of them have the same root.
class Persistent {
 public:
  Persistent(int scatters, int alltoalls)
      : scatters_(scatters),
        alltoalls_(alltoalls),
        calls_(scatters + alltoalls + 3),
        all_(static_cast<size_t>(calls_)),
        requests_(static_cast<size_t>(calls_), MPI_REQUEST_NULL),
        types_(static_cast<size_t>(g_size), MPI_INT) {
    for (int k = 0; k < scatters; ++k) init_scatterv(k);
    for (int k = scatters; k < scatters + alltoalls; ++k) init_alltoallw(k);
    init_of_all();
  }
  ~Persistent() {
    for (MPI_Request& request : requests_) OK(MPI_Request_free(&request));
  }

  void run() {
    unsigned long long entered = 0;
    for (int round = 0; round < 6; ++round) {
      if (round == 2) entered = groups_entered();
      fill(round);
      start_and_wait(round);
      check(round);
    }
    // A process keeps as many as eight of its own.
    const char* scheme = getenv("FGMPI_MULTICAST_GROUPS");
    const bool dynamic = scheme && strcmp(scheme, "dynamic") == 0;
    if (scatters_ + alltoalls_ <= 8 && !dynamic) CHECK(groups_entered() == entered);
    // A root is in each of its own.
    if (dynamic && g_rank == root_ && entered > 0) CHECK(groups_entered() > entered);
    if (scheme && strcmp(scheme, "static") == 0) CHECK(groups_entered() <= 1);
  }

 private:
  static constexpr int kCount = 3000, kPart = 900;
  struct Call {
    std::vector<int> out, in, send_counts, send_displs, recv_counts, recv_displs;
  };
  static bool takes(int call, int rank) { return (rank + call) % (2 + call % 3) == 0; }
  Call& call(int k) { return all_[static_cast<size_t>(k)]; }
  MPI_Request* request(int k) { return &requests_[static_cast<size_t>(k)]; }

  /// With zeros: parts of kCount ints and more for some of the ranks.
  void init_scatterv(int k) {
    Call& c = call(k);
    int at = 0;
    for (int r = 0; r < g_size; ++r) {
      c.send_counts.push_back(takes(k, r) ? kCount + k : 0);
      c.send_displs.push_back(at);
      at += c.send_counts.back();
    }
    c.out.resize(static_cast<size_t>(at) + 1);
    c.in.resize(kCount + static_cast<size_t>(k));
    OK(MPI_Scatterv_init(c.out.data(), c.send_counts.data(), c.send_displs.data(), MPI_INT,
                         c.in.data(), takes(k, g_rank) ? kCount + k : 0, MPI_INT, root_, g_comm,
                         MPI_INFO_NULL, request(k)));
  }
  /// All ranks have something for the same ones.
  void init_alltoallw(int k) {
    Call& c = call(k);
    for (int r = 0; r < g_size; ++r) {
      c.send_counts.push_back(takes(k, r) ? kPart : 0);
      c.recv_counts.push_back(takes(k, g_rank) ? kPart : 0);
      c.send_displs.push_back(r * kPart * 4);
      c.recv_displs.push_back(r * kPart * 4);
    }
    c.out.resize(static_cast<size_t>(g_size) * kPart);
    c.in.resize(c.out.size());
    OK(MPI_Alltoallw_init(c.out.data(), c.send_counts.data(), c.send_displs.data(), types_.data(),
                          c.in.data(), c.recv_counts.data(), c.recv_displs.data(), types_.data(),
                          g_comm, MPI_INFO_NULL, request(k)));
  }
  /// A broadcast, a scatter, an allgatherv.
  void init_of_all() {
    const size_t n = static_cast<size_t>(g_size);
    Call &bcast = call(calls_ - 3), &scatter = call(calls_ - 2), &gather = call(calls_ - 1);
    bcast.in.resize(kCount);
    OK(MPI_Bcast_init(bcast.in.data(), kCount, MPI_INT, root_, g_comm, MPI_INFO_NULL,
                      request(calls_ - 3)));
    scatter.out.resize(n * kPart);
    scatter.in.resize(kPart);
    OK(MPI_Scatter_init(scatter.out.data(), kPart, MPI_INT, scatter.in.data(), kPart, MPI_INT,
                        root_, g_comm, MPI_INFO_NULL, request(calls_ - 2)));
    for (int r = 0, at = 0; r < g_size; ++r) {
      gather.recv_counts.push_back(kPart + r);
      gather.recv_displs.push_back(at);
      at += kPart + r;
    }
    gather.out.resize(kPart + n);
    gather.in.resize(n * (kPart + n));
    OK(MPI_Allgatherv_init(gather.out.data(), kPart + g_rank, MPI_INT, gather.in.data(),
                           gather.recv_counts.data(), gather.recv_displs.data(), MPI_INT, g_comm,
                           MPI_INFO_NULL, request(calls_ - 1)));
  }

  void fill(int round) {
    for (int k = 0; k < calls_; ++k) {
      Call& c = call(k);
      for (size_t i = 0; i < c.out.size(); ++i)
        c.out[i] = value(round, g_rank, k, static_cast<int>(i));
      std::fill(c.in.begin(), c.in.end(), -1);
    }
    std::vector<int>& bcast = call(calls_ - 3).in;
    for (size_t i = 0; g_rank == root_ && i < bcast.size(); ++i)
      bcast[i] = value(round, root_, calls_ - 3, static_cast<int>(i));
  }

  void start_and_wait(int round) {
    if (round % 2 == 0) {
      OK(MPI_Startall(calls_, requests_.data()));
      OK(MPI_Waitall(calls_, requests_.data(), MPI_STATUSES_IGNORE));
      return;
    }
    auto at = [&](int k) { return request((k * (calls_ % 7 ? 7 : 11) + g_rank) % calls_); };
    for (int k = 0; k < calls_; ++k) OK(MPI_Start(at(k)));
    for (int k = calls_; k-- > 0;) OK(MPI_Wait(at(k), MPI_STATUS_IGNORE));
  }

  /// `n` ints from element `at` on are those that `from` had from its element `first` on.
  void check_part(int round, int k, int at, int n, int from, int first) {
    for (int i = 0; i < n; ++i)
      CHECK(call(k).in[static_cast<size_t>(at + i)] == value(round, from, k, first + i));
  }
  void check(int round) {
    for (int k = 0; k < scatters_; ++k) {
      int before = 0;
      for (int r = 0; r < g_rank; ++r) before += takes(k, r) ? kCount + k : 0;
      check_part(round, k, 0, takes(k, g_rank) ? kCount + k : 0, root_, before);
    }
    for (int k = scatters_; k < scatters_ + alltoalls_; ++k)
      for (int r = 0; r < g_size; ++r)
        check_part(round, k, r * kPart, takes(k, g_rank) ? kPart : 0, r, g_rank * kPart);
    check_part(round, calls_ - 3, 0, kCount, root_, 0);
    check_part(round, calls_ - 2, 0, kPart, root_, g_rank * kPart);
    for (int r = 0, at = 0; r < g_size; at += kPart + r, ++r)
      check_part(round, calls_ - 1, at, kPart + r, r, 0);
  }

  const int scatters_, alltoalls_, calls_, root_ = 1 % g_size;
  std::vector<Call> all_;
  std::vector<MPI_Request> requests_;
  const std::vector<MPI_Datatype> types_;
};

/// Opening communicates nothing: ranks that open and close at different times do not wait for each
/// other.
void local() {
  int buffer[2] = {0, 0};
  for (int i = 0; i <= g_rank % 3; ++i)
    OK(MPIX_Bcast_open_group(buffer, 2, MPI_INT, 0, MPI_COMM_SELF));
  for (int i = 0; i <= g_rank % 3; ++i)
    OK(MPIX_Bcast_close_group(buffer, 2, MPI_INT, 0, MPI_COMM_SELF));
  if (g_rank % 2)
    OK(MPIX_Scatter_open_group(buffer, 1, MPI_INT, buffer + 1, 1, MPI_INT, 0, g_comm));
}

/// What is refused, and how it is said.
void errors() {
  int buffer[4] = {0};
  OK(MPI_Comm_set_errhandler(g_comm, MPI_ERRORS_RETURN));
  auto class_of = [](int code) {
    int c;
    OK(MPI_Error_class(code, &c));
    return c;
  };
  // Opening and closing look at nothing: they stand around loops that may never run.
  OK(MPIX_Bcast_close_group(buffer, 1, MPI_INT, 0, g_comm));
  OK(MPIX_Bcast_open_group(nullptr, -1, MPI_DATATYPE_NULL, g_size, g_comm));
  OK(MPIX_Bcast_close_group(nullptr, -1, MPI_DATATYPE_NULL, g_size, g_comm));
  const int* nowhere = reinterpret_cast<const int*>(8);
  OK(MPIX_Scatterv_open_group(buffer, nowhere, nowhere, MPI_INT, buffer, 1, MPI_INT, 0, g_comm));
  OK(MPIX_Scatterv_close_group(buffer, nowhere, nowhere, MPI_INT, buffer, 1, MPI_INT, 0, g_comm));
  for (MPI_Comm none : {MPI_COMM_NULL, (MPI_Comm)0x12345678L}) {
    OK(MPIX_Bcast_open_group(buffer, 1, MPI_INT, 0, none));
    OK(MPIX_Bcast_close_group(buffer, 1, MPI_INT, 0, none));
  }
  // A movement whose arguments have become bad says so, and the group stays as it was.
  OK(MPIX_Bcast_open_group(buffer, 1, MPI_INT, 0, g_comm));
  CHECK(class_of(MPIX_Bcast_data_movement(buffer, 1, MPI_INT, g_size, g_comm)) == MPI_ERR_ROOT);
  CHECK(class_of(MPIX_Bcast_data_movement(buffer, -1, MPI_INT, 0, g_comm)) == MPI_ERR_COUNT);
  OK(MPIX_Bcast_data_movement(buffer, 1, MPI_INT, 0, g_comm));
  OK(MPIX_Bcast_close_group(buffer, 1, MPI_INT, 0, g_comm));
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &g_comm));
  OK(MPI_Comm_rank(g_comm, &g_rank));
  OK(MPI_Comm_size(g_comm, &g_size));
  local();
  const int series = g_size > 32 ? 3 : 8;
  for (int s = 0; s < series; ++s) {
    const int most = s % 4 == 3 ? 6000 / g_size + 2 : 20;
    bcast(s, s % 4 == 3 ? 20000 : 30);
    scatter(s, most);
    scatterv(s, most);
    allgatherv(s, most);
    alltoallw(s, most);
  }
  if (g_size <= 32) many();
  if (g_size <= 32) to_intervals();
  if (g_size <= 32) {
    Persistent(5, 3).run();
    Persistent(20, 0).run();
    Persistent(3, 10).run();
  }
  errors();
  OK(MPI_Comm_free(&g_comm));  // groups that are still open go with it
  return finish();
}
