// Ranks that move between real processes while all send to all: the processes are forked and are
// connected by shared memory. What a rank's program knows travels as a record, as it would lie in
// the rank's memory; its endpoint moves by depart() and arrive().

#include <malloc.h>

#include <array>
#include <numeric>
#include <optional>

#include "../setting.h"
#include "../transport/processes.h"
#include "base/strings.h"
#include "pt2pt/moved_endpoints.h"
#include "pt2pt/moved_frames.h"
#include "transport/registry.h"
#include "unsteady_carrier.h"
#include "world.h"

namespace fgmpi::pt2pt {
namespace {

using namespace testing;
using transport::testing::Member;

constexpr uint64_t kCtx = 256;
constexpr uint32_t kMostRanks = 12;
constexpr int kRecord = 14, kEnded = 15;  ///< kinds of notices
constexpr uint32_t kNoMove = 0xffffffffu;

struct Traffic {
  const char* name;
  int processes;
  uint32_t each;  ///< ranks of a process
  uint32_t rounds;
  uint32_t move_every;  ///< one in so many rounds begins with a move, if nothing keeps the rank
  const char* limit;    ///< FGMPI_UNEXPECTED_LIMIT
  bool large;           ///< some messages are rendezvous
  int unsteady = 0;     ///< percent of frames that the transport has no room for at first
};
const Traffic kTraffic[] = {
    {"two processes", 2, 2, 1500, 8, "64m", false},
    {"three processes", 3, 2, 800, 8, "64m", false},
    {"large messages", 3, 2, 300, 8, "64m", true},
    {"many ranks", 3, 4, 300, 20, "64m", false},
    {"a small window", 2, 2, 400, 8, "12k", true},
    {"no window", 2, 2, 300, 8, "0", false},
    {"frames that wait", 3, 2, 200, 4, "12k", true, 30},
    {"long frames that wait", 3, 1, 400, 4, "64m", true, 30},
};

/// All that a rank's program knows. In each round it sends one message and receives one.
struct Walker {
  uint32_t world, round, moves;
  std::array<uint32_t, kMostRanks> sent, received;
  uint64_t random;
  uint32_t next() {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(random >> 33);
  }
};

/// Connects the processes of the job by shared memory; each has `each` ranks, and so many
/// endpoints. `unsteady`: percent of frames that wait for room at first.
void connect_all(Member* member, uint32_t each, uint32_t endpoints, int unsteady = 0) {
  const auto me = static_cast<uint32_t>(member->rank);
  let_ranks_move();
  auto made = transport::make("shm");
  member->t = made.get();
  std::string address;
  REQUIRE(made->open(sinks(), &address).ok());
  std::strcpy(member->board->addresses[me], address.c_str());
  member->meet();
  const auto processes = static_cast<uint32_t>(member->size);
  std::vector<uint32_t> starts;
  for (uint32_t p = 0; p <= processes; ++p) starts.push_back(p * each);
  g_av.init(starts, me);
  for (uint32_t p = 0; p < processes; ++p) {
    uint64_t local;
    REQUIRE(made->add_peer(p, member->board->addresses[p], &local).ok());
    g_av.set_address(p, local, false);
  }
  member->meet();
  made->all_connected(me);
  Setup setup;
  setup.local_count = endpoints;
  static UnsteadyCarrier carrier(made.get(), unsteady, me);
  setup.transports[0] = &carrier;
  REQUIRE(init(setup).ok());
  member->list.push_back(std::move(made));
}

class MovingJob {
 public:
  MovingJob(const Traffic& t, Member* member, uint64_t seed)
      : t_(t),
        member_(member),
        me_(static_cast<uint32_t>(member->rank)),
        ranks_(t.each * static_cast<uint32_t>(t.processes)),
        seed_(seed) {}

  void run() {
    mallopt(M_PERTURB, 0x5a);  // memory of malloc() is never 0 by chance
    connect_all(member_, t_.each, t_.each + ranks_, t_.unsteady);
    self_ = this;
    set_notice_handler(kRecord, [](uint32_t, uint64_t, const void* data, size_t bytes) {
      REQUIRE(bytes == sizeof(Walker));
      Walker walker;
      memcpy(&walker, data, bytes);
      self_->receive(walker);
    });
    set_notice_handler(kEnded, [](uint32_t, uint64_t, const void*, size_t) { self_->end_one(); });
    sched::Hooks hooks;
    hooks.poll = [] {
      const bool moved = progress();
      REQUIRE(g_engine.bad_frames() == 0);  // a message that is lost would be waited for
      return moved;
    };
    hooks.all_parked = [] { return false; };
    hooks.sleep = [](int64_t) { usleep(20); };
    sched::set_hooks(hooks);
    slots_.resize(t_.each + ranks_);
    REQUIRE(sched::create_ranks(
                t_.each + ranks_, [](void*) { self_->live(); }, nullptr)
                .ok());
    REQUIRE(sched::run() == 0);
    while (!quiet()) progress();
    member_->meet_polling();
    for (int i = 0; i < 1000; ++i) progress();
    std::string kept;
    describe_moved(&kept);
    if (!forwarding().empty()) std::fprintf(stderr, "%s", kept.c_str());
    REQUIRE(forwarding().empty());
    REQUIRE(g_engine.bad_frames() == 0);
    REQUIRE(g_engine.expected_answers() == 0);
    REQUIRE(counters().unexpected_bytes == 0);
    REQUIRE(item_bytes_in_flight() == 0);
    member_->board->numbers[0].fetch_add(moves_);
    check_credit();
  }

 private:
  struct Slot {
    std::optional<Walker> walker;  ///< has come, and does not run yet
    bool parked = false;
  };
  struct Sent {
    std::vector<char> data;
    Request* request;
  };

  /// All messages have been received: what counts as under way is the credit that its receiver has
  /// not returned yet.
  void check_credit() {
    const auto processes = static_cast<uint32_t>(t_.processes);
    auto* to_return = &member_->board->numbers[1];
    for (uint32_t p = 0; p < processes; ++p)
      to_return[me_ * processes + p] = g_engine.peers.take_to_return(p);
    member_->meet_polling();
    for (uint32_t p = 0; p < processes; ++p)
      REQUIRE(g_engine.peers.in_flight(p) == to_return[p * processes + me_]);
    member_->meet_polling();
  }

  uint32_t home_of(uint32_t world) const { return world / t_.each; }
  /// The local index of a rank here: its own, or behind all own ranks.
  uint32_t index_of(uint32_t world) const {
    return home_of(world) == me_ ? world % t_.each : t_.each + world;
  }
  uint32_t destination_of(uint32_t world, uint32_t round) const {
    return (world + 1 + round * 7 % ranks_) % ranks_;
  }
  /// How many messages of the first `rounds` rounds go from one rank to another.
  uint32_t count_until(uint32_t from, uint32_t to, uint32_t rounds) const {
    uint32_t count = 0;
    for (uint32_t r = 0; r < rounds; ++r) count += destination_of(from, r) == to;
    return count;
  }

  void receive(const Walker& walker) {
    const uint32_t local = index_of(walker.world);
    slots_[local].walker = walker;
    if (slots_[local].parked) sched::ready(sched::rank_proclet(local));
  }
  void end_one() {
    if (++ended_ < ranks_ * (me_ == 0 ? 1 : 0)) return;
    if (me_ == 0)
      for (uint32_t p = 1; p < static_cast<uint32_t>(t_.processes); ++p)
        notify(p, kEnded, 0, nullptr, 0);
    over_ = true;
    for (uint32_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].parked) sched::ready(sched::rank_proclet(i));
  }

  /// The main function of each coroutine: runs the rank that is here under this index.
  void live() {
    const uint32_t local = sched::current()->index;
    Slot& slot = slots_[local];
    if (local < t_.each) {
      Walker walker{};
      walker.world = me_ * t_.each + local;
      walker.random = seed_ * 1000 + walker.world;
      slot.walker = walker;
    }
    while (!over_) {
      while (!slot.walker && !over_) {
        const sched::WaitSite site{"wait for a rank", nullptr, false};
        slot.parked = true;
        sched::park(&site);
        slot.parked = false;
      }
      if (!slot.walker) return;
      Walker walker = *slot.walker;
      slot.walker.reset();
      if (home_of(walker.world) != me_ || walker.moves > 0)
        REQUIRE(arrive(walker.world, local).ok());
      const uint32_t process = walk(&walker, local);
      if (process == kNoMove) {
        me_ == 0 ? end_one() : notify(0, kEnded, 0, nullptr, 0);
        continue;
      }
      ++walker.moves;
      ++moves_;
      REQUIRE(depart(walker.world, local, process).ok());
      notify(process, kRecord, 0, &walker, sizeof walker);
    }
  }

  /// Goes on with a rank's program, until it is over (kNoMove) or moves to the process returned.
  uint32_t walk(Walker* walker, uint32_t local) {
    std::deque<Sent> sent;
    for (; walker->round < t_.rounds; ++walker->round) {
      while (!sent.empty() && sent.front().request->complete()) {
        free_request(sent.front().request);
        sent.pop_front();
      }
      const auto process = walker->next() % static_cast<uint32_t>(t_.processes);
      if (walker->next() % t_.move_every == 0 && process != me_ && sent.empty() &&
          may_depart(walker->world, local).ok())
        return process;
      send_one(walker, &sent);
      receive_one(walker, local);
      if (walker->next() % 4 == 0) sched::yield();
    }
    for (Sent& each : sent) {
      wait(each.request, "wait");
      free_request(each.request);
    }
    return kNoMove;
  }

  size_t size_of(uint32_t number) const {
    if (t_.large && number % 11 == 3) return 100'000 + number % 1000;
    if (number % 7 == 2) return 16'000 + number % 3000;
    return 16 + number % 300;
  }
  void send_one(Walker* walker, std::deque<Sent>* sent) {
    const uint32_t to = destination_of(walker->world, walker->round);
    const uint32_t number = walker->sent[to]++;
    std::vector<char> data(size_of(number));
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<char>(walker->world * 31 + number * 7 + i);
    memcpy(data.data(), &number, sizeof number);
    const bool synchronous = walker->next() % 5 == 0;
    Request* request;
    REQUIRE(isend(bytes(data.data(), data.size()), {kByWorld, to},
                  static_cast<int32_t>(walker->world), static_cast<int32_t>(number % 3), kCtx,
                  synchronous ? SendMode::kSynchronous : SendMode::kStandard, "isend", nullptr,
                  &request)
                .ok());
    sent->push_back({std::move(data), request});
  }
  void receive_one(Walker* walker, uint32_t local) {
    int32_t source = MPI_ANY_SOURCE, tag = MPI_ANY_TAG;
    if (walker->next() % 3 == 0) {
      uint32_t from = walker->next() % ranks_;
      while (count_until(from, walker->world, walker->round + 1) <= walker->received[from])
        from = (from + 1) % ranks_;
      source = static_cast<int32_t>(from);
      if (walker->next() % 2 == 0) tag = static_cast<int32_t>(walker->received[from] % 3);
    }
    std::vector<char> data(110'000);
    Outcome o;
    if (walker->next() % 3 == 0) {
      REQUIRE(probe(endpoint(local), source, tag, kCtx, "probe", &o).ok());
      source = o.source;
      tag = o.tag;
    }
    REQUIRE(
        recv(bytes(data.data(), data.size()), endpoint(local), source, tag, kCtx, "recv", &o).ok());
    REQUIRE(o.source >= 0 && static_cast<uint32_t>(o.source) < ranks_);
    const auto from = static_cast<uint32_t>(o.source);
    uint32_t number;
    memcpy(&number, data.data(), sizeof number);
    REQUIRE(number == walker->received[from]++);
    REQUIRE(o.bytes == size_of(number) && o.tag == static_cast<int32_t>(number % 3));
    for (size_t i = sizeof number; i < o.bytes; ++i)
      REQUIRE(data[i] == static_cast<char>(from * 31 + number * 7 + i));
  }

  static MovingJob* self_;
  const Traffic& t_;
  Member* member_;
  uint32_t me_, ranks_;
  uint64_t seed_;
  std::vector<Slot> slots_;
  uint32_t ended_ = 0;
  uint64_t moves_ = 0;
  bool over_ = false;
};
MovingJob* MovingJob::self_ = nullptr;

class MovingRanks : public ::testing::TestWithParam<Traffic> {};

TEST_P(MovingRanks, ReceiveEachMessageOnceAndInOrder) {
  const Traffic& t = GetParam();
  const test::Setting limit("FGMPI_UNEXPECTED_LIMIT", t.limit);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto status = transport::testing::run_job(t.processes, [&](Member& member) {
      MovingJob job(t, &member, seed);
      job.run();
      if (member.rank == 0) {
        const uint64_t moves = member.board->numbers[0].load();
        std::printf("seed %d: %d moves\n", static_cast<int>(seed), static_cast<int>(moves));
        std::fflush(stdout);
        REQUIRE(moves > 20);
      }
    });
    transport::testing::expect_all_good(status);
    if (HasFailure()) FAIL() << t.name << ", seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Traffic, MovingRanks, ::testing::ValuesIn(kTraffic),
                         [](const auto& one) { return format("Traffic%zu", one.index); });

// ---- A deadlock of ranks one of which has moved
// --------------------------------------------------

sched::Proclet* g_visitor = nullptr;
bool g_visitor_comes = false;

void receive_from(uint32_t local, int32_t source) {
  char byte;
  Outcome o;
  (void)recv(bytes(&byte, 1), endpoint(local), source, 3, kCtx, "MPI_Recv", &o);
}

/// Rank 0 moves to process 1, where it, with index 1, and rank 1, with index 0, wait for each
/// other.
void wait_for_each_other(void*) {
  const uint32_t local = sched::current()->index;
  if (g_engine.me() == 0) {
    if (local != 0) return;
    REQUIRE(depart(0, 0, 1).ok());
    notify(1, kRecord, 0, nullptr, 0);
    const sched::WaitSite site{"in another process of the host"};
    sched::park(&site);
  } else if (local == 0) {
    receive_from(0, 0);
  } else if (local == 1) {
    g_visitor = sched::current();
    const sched::WaitSite site{"wait for a rank", nullptr, false};
    while (!g_visitor_comes) sched::park(&site);
    REQUIRE(arrive(0, 1).ok());
    receive_from(1, 1);
  }
}

TEST(DeadlockOfMovedRanks, NamesEachRankOnce) {
  const auto status = transport::testing::run_job(2, [](Member& member) {
    connect_all(&member, 1, 3);
    set_notice_handler(kRecord, [](uint32_t, uint64_t, const void*, size_t) {
      g_visitor_comes = true;
      if (g_visitor) sched::ready(g_visitor);
    });
    Naming naming;
    naming.locate = [](uint64_t, int32_t rank, Peer* out) {
      *out = g_av.locate(static_cast<uint32_t>(rank));
      return true;
    };
    set_naming(naming);
    const int errors = memfd_create("errors", 0), before = dup(2);
    REQUIRE(dup2(errors, 2) == 2);
    sched::Hooks hooks;
    hooks.poll = progress;
    hooks.all_parked = all_parked;
    hooks.sleep = [](int64_t) { usleep(20); };
    sched::set_hooks(hooks);
    REQUIRE(sched::create_ranks(3, wait_for_each_other, nullptr).ok());
    const int ended = sched::run();
    REQUIRE(dup2(before, 2) == 2);
    REQUIRE(ended != 0);
    char text[4096] = {};
    REQUIRE(pread(errors, text, sizeof text - 1, 0) >= 0);
    const std::string report = text;
    const auto count = [&](const char* words) {
      size_t n = 0;
      for (size_t at = report.find(words); at != report.npos; at = report.find(words, at + 1)) ++n;
      return n;
    };
    member.meet_polling();
    if (member.rank != 0) return;
    if (count("  rank 0 in MPI_Recv") != 1) std::fprintf(stderr, "%s", text);
    REQUIRE(count("  rank 0 in MPI_Recv") == 1);
    REQUIRE(count("  rank 1 in MPI_Recv") == 1);
    REQUIRE(count("another process") == 0);
  });
  transport::testing::expect_all_good(status);
}

}  // namespace
}  // namespace fgmpi::pt2pt
