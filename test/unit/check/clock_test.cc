#include "check/order/clock.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace fgmpi::check {
namespace {

constexpr int kComms = 7, kRanks = 4;

/// A clock, and a map that must have the same counts.
struct ClockAndModel {
  Knowledge clock;
  std::map<uint64_t, uint64_t> model;

  void raise(uint64_t of, uint64_t count) {
    if (of < kRanks)
      learn(&clock.clock, of, count);
    else
      clock.learn_named({of, count});
    model[of] = std::max(model[of], count);
  }
  void learn_of(const ClockAndModel& other, bool at_most) {
    if (at_most)
      clock.learn_at_most(other.clock);
    else
      clock.learn(other.clock);
    for (const auto& [of, count] : other.model)
      if (!at_most || !is_of_left(of)) model[of] = std::max(model[of], count);
  }
};

std::vector<uint64_t> names() {
  std::vector<uint64_t> all = {kOfTime};
  for (int rank = 0; rank < kRanks; ++rank) all.push_back(of_rank(rank));
  for (uint64_t comm = 0; comm < kComms; ++comm) {
    all.push_back(of_comm(comm << 33 | comm));
    all.push_back(of_left(comm << 33 | comm));
  }
  return all;
}

void expect_same(const ClockAndModel& one) {
  for (const uint64_t of : names()) {
    const auto at = one.model.find(of);
    EXPECT_EQ(one.clock.count_of(of), at == one.model.end() ? 0 : at->second) << of;
  }
  std::map<uint64_t, uint64_t> comms;
  one.clock.for_each_comm(
      [&](const ClockPart& p) { comms[p.of] = std::max(comms[p.of], p.count); });
  for (const auto& [of, count] : one.model) {
    if (of >> 63 && count > 0) {
      EXPECT_EQ(comms[of], count);
    }
  }
}

TEST(Clock, HasWhatAMapHas) {
  std::mt19937 random(5);
  const std::vector<uint64_t> all = names();
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<ClockAndModel> ranks(3);
    for (int step = 0; step < 60; ++step) {
      ClockAndModel& one = ranks[random() % ranks.size()];
      if (random() % 3 == 0)
        one.learn_of(ranks[random() % ranks.size()], random() % 2);
      else
        one.raise(all[random() % all.size()], 1 + random() % 9);
      expect_same(one);
    }
  }
}

TEST(Clock, NamesTheRankThatHasLeft) {
  Knowledge knows;
  for (uint64_t comm = 1; comm <= kComms; ++comm) knows.learn_named({of_comm(comm), 1});
  knows.learn_named({of_left(3), left_early(4, 77)});
  EXPECT_EQ(knows.left_early_by(3, 4), 77);
  EXPECT_EQ(knows.left_early_by(3, 3), 77);
  EXPECT_EQ(knows.left_early_by(3, 5), -1);
  EXPECT_EQ(knows.left_early_by(2, 0), -1);
}

TEST(Clock, HasAHashOfTheComponentsInPlace) {
  Knowledge a, b;
  EXPECT_EQ(a.near_name(), b.near_name());
  a.learn_named({kOfTime, 5});
  EXPECT_NE(a.near_name(), b.near_name());
  b.learn_named({kOfTime, 5});
  EXPECT_EQ(a.near_name(), b.near_name());
}

}  // namespace
}  // namespace fgmpi::check
