/* Multicast groups to whose addresses strangers send move to other addresses, those of
 * communicators and those of opened groups and persistent collectives alike: all members, also one
 * that sleeps meanwhile or has yet to enter the group. The data is right throughout. A rank is the
 * stranger: it sends to the addresses that its own process has joined. */
#include <net/if.h>
#include <unistd.h>

#include <algorithm>

#include "some_ranks.h"

namespace {

constexpr double kLimit = 20; /* seconds */

bool same(const sockaddr_in& a, const sockaddr_in& b) {
  return a.sin_addr.s_addr == b.sin_addr.s_addr && a.sin_port == b.sin_port;
}
bool has(const std::vector<sockaddr_in>& all, const sockaddr_in& one) {
  return std::any_of(all.begin(), all.end(), [&](const sockaddr_in& a) { return same(a, one); });
}
/* Has this process left all of them? */
bool has_left(const std::vector<sockaddr_in>& old) {
  const std::vector<sockaddr_in> now = group_addresses();
  return std::none_of(now.begin(), now.end(), [&](const sockaddr_in& a) { return has(old, a); });
}

/* What no member can have sent, to each of these. */
void disturb(const std::vector<sockaddr_in>& addresses) {
  const int s = socket(AF_INET, SOCK_DGRAM, 0);
  ip_mreqn out{};
  out.imr_ifindex = static_cast<int>(if_nametoindex(getenv("FGMPI_OFI_INTERFACE")));
  CHECK(s >= 0 && setsockopt(s, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof out) == 0);
  const char bytes[100] = "not of this job";
  for (const sockaddr_in& to : addresses)
    for (int i = 0; i < 40; ++i)
      CHECK(sendto(s, bytes, sizeof bytes, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to) ==
            sizeof bytes);
  close(s);
}

/* How often groups of this process have moved since it was made. */
class Moves {
 public:
  Moves() {
    int provided, index, count;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_get_index("multicast_moves", MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_session_create(&session_));
    OK(MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle_, &count));
  }
  ~Moves() {
    OK(MPI_T_pvar_handle_free(session_, &handle_));
    OK(MPI_T_pvar_session_free(&session_));
    OK(MPI_T_finalize());
  }
  unsigned long long count() const {
    unsigned long long value;
    OK(MPI_T_pvar_read(session_, handle_, &value));
    return value;
  }

 private:
  MPI_T_pvar_session session_;
  MPI_T_pvar_handle handle_;
};

/* The groups have been in use; the first rank of a process that takes part disturbs them. */
void in_use(const Places& places, int stranger, int sleeper) {
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  Scatterv s(comm, places);
  const Moves moves;
  s.call(MPIX_Scatterv_open_group);
  int round = 0, left = 0, all_left = 0;
  for (; round < 3; ++round) s.move(round);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const std::vector<sockaddr_in> old = group_addresses();
  if (places.by_multicast) CHECK(old.size() == 1 + size_t{places.keeps && s.takes});
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (places.rank == stranger && places.by_multicast) disturb(old);
  if (places.mine() == sleeper) usleep(50000);
  const double end = MPI_Wtime() + kLimit;
  while (!all_left) {
    s.move(round++);
    left = has_left(old) || MPI_Wtime() > end || !places.by_multicast;
    OK(MPI_Allreduce(&left, &all_left, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  }
  CHECK(!places.by_multicast || has_left(old));
  CHECK(moves.count() == old.size()); /* once each, however many members have seen the stranger */
  for (int i = 0; i < 3; ++i) s.move(round++);
  s.call(MPIX_Scatterv_close_group);
  OK(MPI_Comm_free(&comm));
}

/* The root of a persistent scatter has made a group, and leaves its address before the others enter
 * it. */
void before_others_enter(const Places& places) {
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  Scatterv s(comm, places);
  s.call(MPI_Scatterv); /* the communicator has its group */
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const std::vector<sockaddr_in> before = group_addresses();
  MPI_Request request;
  OK(MPI_Scatterv_init(s.all.data(), s.counts.data(), s.displs.data(), MPI_INT, s.mine.data(),
                       s.takes ? Scatterv::kCount : 0, MPI_INT, 0, comm, MPI_INFO_NULL, &request));
  s.fill(1);
  if (places.mine() != 0) OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Start(&request));
  if (places.rank == 0 && places.keeps) {
    std::vector<sockaddr_in> made;
    const double end = MPI_Wtime() + kLimit;
    int done = 0;
    auto wait_until = [&](auto&& condition) {
      while (!condition() && MPI_Wtime() < end) OK(MPIX_Usleep(1000));
      CHECK(condition());
    };
    wait_until([&] {
      made = group_addresses();
      made.erase(std::remove_if(made.begin(), made.end(),
                                [&](const sockaddr_in& a) { return has(before, a); }),
                 made.end());
      return !made.empty();
    });
    disturb(made);
    wait_until([&] { return has_left(made); });
    OK(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE));
    CHECK(!done);
  }
  if (places.mine() == 0) OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  s.check(1);
  for (int round = 2; round < 6; ++round) {
    s.fill(round);
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    s.check(round);
  }
  /* All who are in the group have the same addresses. */
  std::vector<sockaddr_in> now = group_addresses();
  int count = static_cast<int>(now.size());
  OK(MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD));
  std::vector<sockaddr_in> of_root = now;
  of_root.resize(static_cast<size_t>(count));
  OK(MPI_Bcast(of_root.data(), count * static_cast<int>(sizeof(sockaddr_in)), MPI_BYTE, 0,
               MPI_COMM_WORLD));
  for (const sockaddr_in& a : of_root) CHECK(!s.takes || has(now, a));
  OK(MPI_Request_free(&request));
  OK(MPI_Comm_free(&comm));
}

/* A group that is made for one call is not moved: a member that sees strangers at its address
 * leaves it, and gets its data all the same. The first ranks of processes make the call; process 2
 * comes when a second rank of process 1 has disturbed the group and has seen its process leave. */
void in_one_call(const Places& places) {
  const int each = places.size / places.processes, mine = places.mine();
  const char* scheme = getenv("FGMPI_MULTICAST_GROUPS");
  if (!places.by_multicast || !scheme || strcmp(scheme, "dynamic") != 0) return;
  CHECK(places.processes >= 4 && each >= 2);
  const bool calls = places.rank % each == 0, is_stranger = places.rank == each + 1;
  MPI_Comm comm;
  OK(MPI_Comm_split(MPI_COMM_WORLD, calls ? 0 : MPI_UNDEFINED, 0, &comm));
  std::vector<int> counts(static_cast<size_t>(places.processes)), displs = counts,
                                                                  data(Scatterv::kCount);
  for (size_t p = 0; p < 3; ++p) {
    counts[p] = Scatterv::kCount;
    displs[p] = static_cast<int>(p) * Scatterv::kCount;
  }
  std::vector<int> all(3 * Scatterv::kCount);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i * 7);
  auto scatter = [&] {
    std::fill(data.begin(), data.end(), -1);
    OK(MPI_Scatterv(all.data(), counts.data(), displs.data(), MPI_INT, data.data(),
                    counts[static_cast<size_t>(mine)], MPI_INT, 0, comm));
    for (int i = 0; i < counts[static_cast<size_t>(mine)]; ++i)
      CHECK(data[static_cast<size_t>(i)] == (displs[static_cast<size_t>(mine)] + i) * 7);
  };
  if (calls) scatter(); /* the communicator has its group */
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const std::vector<sockaddr_in> before = group_addresses();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (is_stranger) {
    std::vector<sockaddr_in> made;
    const double end = MPI_Wtime() + kLimit;
    auto wait_until = [&](auto&& condition) {
      while (!condition() && MPI_Wtime() < end) OK(MPIX_Usleep(1000));
      CHECK(condition());
    };
    wait_until([&] {
      made.clear();
      for (const sockaddr_in& a : group_addresses())
        if (!has(before, a)) made.push_back(a);
      return !made.empty();
    });
    disturb(made);
    wait_until([&] { return has_left(made); });
    OK(MPI_Send(nullptr, 0, MPI_INT, 2 * each, 5, MPI_COMM_WORLD));
  }
  if (calls && mine == 2)
    OK(MPI_Recv(nullptr, 0, MPI_INT, each + 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; calls && i < 3; ++i) scatter();
  if (calls) OK(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  const Places places;
  const int takers = (places.processes + 1) / 2; /* processes */
  const int last = static_cast<int>(
      std::find(places.process.begin(), places.process.end(), takers - 1) - places.process.begin());
  in_use(places, 0, -1);
  in_use(places, last, 0);
  in_use(places, 0, takers - 1);
  before_others_enter(places);
  in_one_call(places);
  return finish();
}
