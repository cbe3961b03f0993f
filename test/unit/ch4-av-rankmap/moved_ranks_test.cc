// The tables of moved ranks, compared with maps, and what they cost.

#include "ch4-av-rankmap/moved_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace fgmpi {
namespace {

TEST(MovedRanks, KnowNothingAtFirst) {
  const MovedRanks ranks;
  EXPECT_EQ(ranks.process_of(0), MovedRanks::kNone);
  EXPECT_EQ(ranks.visitor_at(0), MovedRanks::kNone);
  EXPECT_EQ(ranks.index_of_visitor(0), MovedRanks::kNone);
  EXPECT_EQ(ranks.bytes(), 0u);
}

TEST(MovedRanks, EqualMapsAfterRandomChanges) {
  std::mt19937_64 random(11);
  MovedRanks ranks;
  std::map<uint32_t, uint32_t> processes, visitors;  // world rank -> process; index -> world rank
  for (int step = 0; step < 20'000; ++step) {
    const auto world = static_cast<uint32_t>(random() % 40);
    const auto local = static_cast<uint32_t>(random() % 40);
    const auto is_visitor = [&](const auto& entry) { return entry.second == world; };
    const auto visitor = std::find_if(visitors.begin(), visitors.end(), is_visitor);
    switch (random() % 4) {
      case 0:
        ranks.set_process(world, local);
        processes[world] = local;
        break;
      case 1:
        ranks.forget(world);
        processes.erase(world);
        break;
      case 2:
        if (visitor != visitors.end() || visitors.count(local)) break;
        ranks.add_visitor(world, local);
        visitors[local] = world;
        break;
      default:
        if (visitor == visitors.end()) break;
        ranks.remove_visitor(world);
        visitors.erase(visitor);
    }
    ASSERT_EQ(ranks.moved(), processes.size());
    ASSERT_EQ(ranks.visitors(), visitors.size());
    ASSERT_EQ(ranks.process_of(world),
              processes.count(world) ? processes[world] : MovedRanks::kNone);
    ASSERT_EQ(ranks.visitor_at(local), visitors.count(local) ? visitors[local] : MovedRanks::kNone);
    std::string reason;
    ASSERT_TRUE(ranks.validate(&reason)) << reason;
  }
}

TEST(MovedRanks, CostGrowsWithWhatHasMoved) {
  MovedRanks ranks;
  for (uint32_t i = 0; i < 1000; ++i) ranks.set_process(i * 1'000'000, 1);
  EXPECT_LE(ranks.bytes(), 2 * 8 * 1000u);
}

}  // namespace
}  // namespace fgmpi
