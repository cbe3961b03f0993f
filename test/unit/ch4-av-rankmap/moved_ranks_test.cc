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
  EXPECT_EQ(ranks.guest_at(0), MovedRanks::kNone);
  EXPECT_EQ(ranks.index_of_guest(0), MovedRanks::kNone);
  EXPECT_EQ(ranks.bytes(), 0u);
}

TEST(MovedRanks, EqualMapsAfterRandomChanges) {
  std::mt19937_64 random(11);
  MovedRanks ranks;
  std::map<uint32_t, uint32_t> processes, guests;  // world rank -> process; index -> world rank
  for (int step = 0; step < 20'000; ++step) {
    const auto world = static_cast<uint32_t>(random() % 40);
    const auto local = static_cast<uint32_t>(random() % 40);
    const auto is_guest = [&](const auto& entry) { return entry.second == world; };
    const auto guest = std::find_if(guests.begin(), guests.end(), is_guest);
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
        if (guest != guests.end() || guests.count(local)) break;
        ranks.add_guest(world, local);
        guests[local] = world;
        break;
      default:
        if (guest == guests.end()) break;
        ranks.remove_guest(world);
        guests.erase(guest);
    }
    ASSERT_EQ(ranks.moved(), processes.size());
    ASSERT_EQ(ranks.guests(), guests.size());
    ASSERT_EQ(ranks.process_of(world),
              processes.count(world) ? processes[world] : MovedRanks::kNone);
    ASSERT_EQ(ranks.guest_at(local), guests.count(local) ? guests[local] : MovedRanks::kNone);
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
