// Schedules of collectives: each message that a member waits for is sent to it, in the order in
// which it waits, and the data that a collective moves can have come that way.
#include "predict/schedule.h"

#include <gtest/gtest.h>

#include <bitset>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace fgmpi::predict {
namespace {

using coll::CollectiveKind;

struct Member {
  uint32_t round = 0;
  bool in_round = false, finished = false;
  ScheduleRound now;
  std::bitset<256> knows;  ///< members whose contribution it has, or has the effect of
};

/// Runs a schedule with messages that arrive at once. Returns false where members wait for ever, or
/// messages are left.
class ScheduleRun {
 public:
  /// `own`: empty, or the bytes of each member.
  explicit ScheduleRun(const ScheduledCollective& shape, std::vector<MemberBytes> own = {})
      : shape_(shape), own_(std::move(own)), members_(shape.members) {
    own_.resize(shape.members);
    for (uint32_t i = 0; i < shape.members; ++i) members_[i].knows.set(i);
  }

  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t i = 0; i < shape_.members; ++i) moved |= step(i);
    }
    for (const auto& [pair, queue] : under_way_)
      EXPECT_TRUE(queue.empty()) << pair.first << " to " << pair.second;
    for (uint32_t i = 0; i < shape_.members; ++i) EXPECT_TRUE(members_[i].finished) << i;
  }
  const std::bitset<256>& knows(uint32_t member) const { return members_[member].knows; }
  uint64_t bytes_received(uint32_t member) const {
    const auto found = received_.find(member);
    return found == received_.end() ? 0 : found->second;
  }

  /// Bytes that came from one member to another one.
  uint64_t bytes_between(uint32_t from, uint32_t to) const {
    const auto found = came_.find({from, to});
    return found == came_.end() ? 0 : found->second;
  }

 private:
  struct Message {
    uint64_t bytes;
    std::bitset<256> knows;
  };
  bool step(uint32_t i) {
    Member& m = members_[i];
    if (m.finished) return false;
    bool moved = false;
    if (!m.in_round) {
      moved = true;
      m.finished = !fill_round(shape_, own_[i], i, m.round, &m.now);
      if (m.finished) return true;
      m.in_round = true;
      for (const RoundPart& p : m.now.sends) {
        EXPECT_LT(p.peer, shape_.members);
        EXPECT_NE(p.peer, i);
        under_way_[{i, p.peer}].push_back({p.bytes, m.knows});
      }
    }
    for (auto it = m.now.receives.begin(); it != m.now.receives.end();) {
      auto& queue = under_way_[{it->peer, i}];
      if (queue.empty()) {
        ++it;
        continue;
      }
      EXPECT_EQ(queue.front().bytes, it->bytes) << it->peer << " to " << i;
      received_[i] += it->bytes;
      came_[{it->peer, i}] += it->bytes;
      m.knows |= queue.front().knows;
      queue.pop_front();
      it = m.now.receives.erase(it);
      moved = true;
    }
    if (m.now.receives.empty()) {
      m.in_round = false;
      ++m.round;
      moved = true;
    }
    return moved;
  }

  const ScheduledCollective shape_;
  std::vector<MemberBytes> own_;
  std::vector<Member> members_;
  std::map<std::pair<uint32_t, uint32_t>, std::deque<Message>> under_way_;
  std::map<uint32_t, uint64_t> received_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> came_;
};

bool all_need_all(CollectiveKind kind) {
  return kind == CollectiveKind::kBarrier || kind == CollectiveKind::kAllgather ||
         kind == CollectiveKind::kAllgatherv || kind == CollectiveKind::kAlltoall ||
         kind == CollectiveKind::kAllreduce || kind == CollectiveKind::kReduceScatterBlock ||
         kind == CollectiveKind::kReduceScatter;
}
bool root_needs_all(CollectiveKind kind) {
  return kind == CollectiveKind::kReduce || kind == CollectiveKind::kGather;
}
bool all_need_root(CollectiveKind kind) {
  return kind == CollectiveKind::kBcast || kind == CollectiveKind::kScatter;
}

void check(const ScheduledCollective& shape) {
  SCOPED_TRACE("kind " + std::to_string(static_cast<int>(shape.kind)) + ", " +
               name_of(shape.algorithm) + ", " + std::to_string(shape.members) + " members, root " +
               std::to_string(shape.root) + ", " + std::to_string(shape.bytes) + " bytes");
  ScheduleRun run(shape);
  run.run();
  const uint32_t n = shape.members;
  for (uint32_t i = 0; i < n; ++i) {
    if (all_need_all(shape.kind) || (root_needs_all(shape.kind) && i == shape.root)) {
      EXPECT_EQ(run.knows(i).count(), n) << i;
    }
    if (all_need_root(shape.kind)) {
      EXPECT_TRUE(run.knows(i).test(shape.root)) << i;
    }
    for (uint32_t k = 0; shape.kind == CollectiveKind::kScan && k < i; ++k)
      EXPECT_TRUE(run.knows(i).test(k)) << i << " of " << k;
    const bool gathers = shape.kind == CollectiveKind::kAllgather ||
                         shape.kind == CollectiveKind::kAlltoall ||
                         (shape.kind == CollectiveKind::kGather && i == shape.root);
    const uint64_t received = run.bytes_received(i);
    if (gathers) {
      EXPECT_GE(received, shape.bytes * (n - 1)) << i;
    }
    if (shape.kind == CollectiveKind::kBcast && i != shape.root) {
      EXPECT_GE(received + n, shape.bytes) << i;
    }
  }
}

TEST(Schedule, EveryMessageIsSentAndEveryMemberGetsWhatItNeeds) {
  for (uint32_t n = 1; n <= 40; ++n)
    for (int kind = 0; kind < static_cast<int>(CollectiveKind::kNeighborAllgather); ++kind)
      for (const uint64_t bytes : {0, 8, 4'096, 60'000, 3'000'000}) {
        ScheduledCollective shape;
        shape.kind = static_cast<CollectiveKind>(kind);
        if (shape.kind == CollectiveKind::kGatherv || shape.kind == CollectiveKind::kScatterv ||
            shape.kind == CollectiveKind::kAlltoallv || shape.kind == CollectiveKind::kAlltoallw)
          continue;  // the counts of each member are given (Simulator::fill_member)
        shape.members = n;
        shape.bytes = bytes;
        shape.algorithm = choose_algorithm(shape.kind, n, bytes);
        for (const uint32_t root : {uint32_t{0}, n / 2, n - 1}) {
          shape.root = root;
          check(shape);
          if (HasFailure()) return;
        }
      }
}

/// Forms with counts: each member gets exactly what each other one has for it, also where that is
/// nothing, and more members than send at a time.
TEST(Schedule, EveryByteOfAMatrixArrives) {
  std::mt19937 dice(5);
  for (const CollectiveKind kind : {CollectiveKind::kAlltoallv, CollectiveKind::kAlltoallw,
                                    CollectiveKind::kGatherv, CollectiveKind::kScatterv})
    for (const uint32_t n : {2u, 3u, 7u, 33u, 50u}) {
      const ScheduledCollective shape{kind, choose_algorithm(kind, n, 100), n, n / 2, 0};
      std::map<std::pair<uint32_t, uint32_t>, uint64_t> matrix;
      std::vector<MemberBytes> own(n);
      for (uint32_t d = 1; d < n; ++d)
        for (uint32_t from = 0; from < n; ++from) {
          const uint32_t to = (from + n - d) % n;
          const bool rooted = kind == CollectiveKind::kGatherv || kind == CollectiveKind::kScatterv;
          const bool none = rooted && (kind == CollectiveKind::kGatherv ? to : from) != n / 2;
          const uint64_t bytes = none || dice() % 3 == 0 ? 0 : dice() % 5'000;
          if (!bytes) continue;
          matrix[{from, to}] = bytes;
          own[from].sends.push_back({to, bytes});
        }
      for (uint32_t d = 1; d < n; ++d)
        for (uint32_t to = 0; to < n; ++to)
          if (const auto cell = matrix.find({(to + d) % n, to}); cell != matrix.end())
            own[to].receives.push_back({(to + d) % n, cell->second});
      ScheduleRun run(shape, own);
      run.run();
      for (uint32_t from = 0; from < n; ++from)
        for (uint32_t to = 0; to < n; ++to) {
          const auto cell = matrix.find({from, to});
          ASSERT_EQ(run.bytes_between(from, to), cell == matrix.end() ? 0 : cell->second)
              << "kind " << static_cast<int>(kind) << ", " << n << " members, " << from << " to "
              << to;
        }
    }
}

TEST(Schedule, NumbersOfMessagesAreThoseOfTheAlgorithms) {
  const auto sent = [](CollectiveKind kind, uint32_t n, uint64_t bytes) {
    ScheduledCollective shape{kind, choose_algorithm(kind, n, bytes), n, 0, bytes};
    uint64_t count = 0;
    ScheduleRound round;
    for (uint32_t i = 0; i < n; ++i)
      for (uint32_t r = 0; fill_round(shape, {}, i, r, &round); ++r) count += round.sends.size();
    return count;
  };
  EXPECT_EQ(sent(CollectiveKind::kBarrier, 8, 0), 24u);
  EXPECT_EQ(sent(CollectiveKind::kBarrier, 9, 0), 36u);
  EXPECT_EQ(sent(CollectiveKind::kBcast, 100, 8), 99u);
  EXPECT_EQ(sent(CollectiveKind::kReduce, 100, 8), 99u);
  EXPECT_EQ(sent(CollectiveKind::kAllreduce, 16, 8), 64u);
  EXPECT_EQ(sent(CollectiveKind::kAllreduce, 16, 1 << 20), 128u);
  EXPECT_EQ(sent(CollectiveKind::kAllgather, 6, 1 << 20), 30u);
  EXPECT_EQ(sent(CollectiveKind::kAlltoall, 10, 1'000), 90u);
}

/// Members that have nothing for many others: no member waits for one that is a round behind.
TEST(Schedule, SparseAlltoallv) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    const uint32_t n = 2 + random() % 150, percent = 1 + random() % 99;
    std::vector<MemberBytes> own(n);
    std::vector<std::vector<uint64_t>> bytes(n, std::vector<uint64_t>(n));
    for (auto& row : bytes)
      for (uint64_t& b : row) b = random() % 100 < percent ? 1 + random() % 1000 : 0;
    for (uint32_t i = 0; i < n; ++i)
      for (uint32_t d = 1; d < n; ++d) {
        const uint32_t from = (i + d) % n, to = (i + n - d) % n;
        if (bytes[from][i]) own[i].receives.push_back({from, bytes[from][i]});
        if (bytes[i][to]) own[i].sends.push_back({to, bytes[i][to]});
      }
    ScheduleRun run({CollectiveKind::kAlltoallv, ScheduleAlgorithm::kScattered, n, 0, 0}, own);
    run.run();
  }
}

TEST(Schedule, RulesChooseAlgorithms) {
  using A = ScheduleAlgorithm;
  const auto number = [](CollectiveKind kind) { return static_cast<uint8_t>(kind); };
  const std::vector<CollectiveRule> rules = {
      {number(CollectiveKind::kBcast), A::kScatterRing, 1000},
      {number(CollectiveKind::kBcast), A::kBinomial, 100'000},
      {number(CollectiveKind::kAllgather), A::kDoubling, 0}};
  EXPECT_EQ(choose_algorithm(rules, CollectiveKind::kBcast, 16, 999), A::kBinomial);  // MPICH's
  EXPECT_EQ(choose_algorithm(rules, CollectiveKind::kBcast, 16, 1000), A::kScatterRing);
  EXPECT_EQ(choose_algorithm(rules, CollectiveKind::kBcast, 16, 1 << 20), A::kBinomial);
  EXPECT_EQ(choose_algorithm(rules, CollectiveKind::kAllgather, 16, 1 << 20), A::kDoubling);
  EXPECT_EQ(choose_algorithm(rules, CollectiveKind::kAllgather, 12, 1 << 20), A::kRing);
  EXPECT_EQ(choose_algorithm(rules, CollectiveKind::kAllreduce, 16, 8), A::kDoubling);
}

/// Each algorithm that a file may choose moves the data, for all numbers of members.
TEST(Schedule, AllRuledAlgorithms) {
  for (const RuledCollective& ruled : ruled_collectives())
    for (const ScheduleAlgorithm algorithm : ruled.allowed)
      for (uint32_t n = 2; n <= 33; ++n) {
        const bool is_communicator = ruled.collective == kCommunicator;
        const auto kind = is_communicator ? CollectiveKind::kAllreduce
                                          : static_cast<CollectiveKind>(ruled.collective);
        const std::vector<CollectiveRule> rules = {{ruled.collective, algorithm, 0}};
        const ScheduledCollective shape{kind,
                                        is_communicator ? choose_for_communicator(rules)
                                                        : choose_algorithm(rules, kind, n, 5000),
                                        n, n / 2, 5000};
        ScheduleRun run(shape);
        run.run();
        SCOPED_TRACE(std::string(name_of_collective(ruled.collective)) + ", " + name_of(algorithm) +
                     ", " + std::to_string(n));
        for (uint32_t i = 0; i < n; ++i) {
          if (kind == CollectiveKind::kBcast) {
            EXPECT_TRUE(run.knows(i).test(n / 2)) << i;
          }
          if (kind == CollectiveKind::kReduce ? i == n / 2 : kind != CollectiveKind::kBcast) {
            EXPECT_EQ(run.knows(i).count(), n) << i;
          }
        }
      }
}

}  // namespace
}  // namespace fgmpi::predict
