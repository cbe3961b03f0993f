// Compares maps of merged process groups with plain lists of <pgid, lpid>.
#include "ch4-av-rankmap/mlut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace fgmpi {
namespace {

struct Mlut : testing::Test {
  // Other tests must find no process groups.
  void TearDown() override { g_process_groups = ProcessGroups(); }
};

using Pairs = std::vector<GroupRank>;

void set_up_groups() {
  if (g_process_groups.others() > 0) return;
  g_av.init({0, 4, 8, 12}, 1);
  g_process_groups.set_own({7, 7});
  uint32_t pgid;
  EXPECT_TRUE(g_process_groups.add({3, 1}, std::vector<uint32_t>{1, 1, 1, 1, 1}, &pgid).ok());
  EXPECT_EQ(pgid, 1u);
  EXPECT_TRUE(g_process_groups.add({9, 1}, std::vector<uint32_t>{3, 7, 1}, &pgid).ok());
  EXPECT_EQ(pgid, 2u);
  for (uint32_t g = 0; g < 3; ++g)
    for (uint32_t p = 0; p < g_process_groups.processes(g); ++p)
      g_av.set_address(g_process_groups.first_process(g) + p, g * 1000 + p, p & 1);
}

Pairs everyone() {
  Pairs all;
  for (uint32_t g = 0; g < 3; ++g)
    for (uint32_t r = 0; r < g_process_groups.ranks(g); ++r) all.push_back({g, r});
  return all;
}

/// Compares a map with its list. `travelled`: a map of members of one other group is ordinary too.
void compare(const RankMap& map, const Pairs& pairs, bool travelled = false) {
  ASSERT_EQ(map.size(), static_cast<int32_t>(pairs.size()));
  std::string why;
  EXPECT_TRUE(map.validate(&why)) << why;
  bool own = std::all_of(pairs.begin(), pairs.end(), [](GroupRank g) { return g.pgid == 0; });
  const bool one =
      std::all_of(pairs.begin(), pairs.end(), [&](GroupRank g) { return g.pgid == pairs[0].pgid; });
  const bool ordinary = own || (travelled && one);
  EXPECT_EQ(map.model() == RankMap::Model::kMlut, !ordinary);
  EXPECT_EQ(has_foreign(map), !own && !pairs.empty());
  EXPECT_EQ(spans_groups(map), !one && !pairs.empty());
  for (int32_t r = 0; r < map.size(); ++r) {
    GroupRank g = pairs[static_cast<size_t>(r)];
    EXPECT_EQ(g_process_groups.find_rank(map.world_of(r)), g);
    EXPECT_EQ(map.rank_of(g_process_groups.global_of(g)), r);
    if (ordinary) continue;
    Location at = merged_locate(*mlut_of(map), r);
    EXPECT_EQ(g_av.first(at.process) + at.local, g_process_groups.first_rank(g.pgid) + g.lpid);
    EXPECT_EQ(g_process_groups.group_of_process(at.process), g.pgid);
    if (g.lpid < g_process_groups.processes(g.pgid)) {
      EXPECT_EQ(merged_address(*mlut_of(map), r), g.pgid * 1000 + g.lpid);
    }
  }
}

TEST_F(Mlut, RandomGroupsTheirChildrenAndWireForms) {
  set_up_groups();
  std::mt19937 random(17);
  for (int k = 0; k < 50; ++k) {
    Pairs pairs = everyone();
    std::shuffle(pairs.begin(), pairs.end(), random);
    pairs.resize(1 + random() % pairs.size());
    RankMap map;
    ASSERT_TRUE(merged_map(pairs, &map).ok());
    compare(map, pairs);
    RankMap copy = RankMap::compose(map, RankMap::direct(map.size()));
    EXPECT_TRUE(copy.encoded().same(map.encoded()));
    std::vector<int32_t> picks;
    for (int32_t r = 0; r < map.size(); ++r)
      if (random() % 3) picks.push_back(r);
    std::shuffle(picks.begin(), picks.end(), random);
    Pairs expected;
    for (int32_t r : picks) expected.push_back(pairs[static_cast<size_t>(r)]);
    compare(RankMap::compose(map, RankMap::from_ranks(picks)), expected);
    std::vector<uint8_t> wire;
    map.serialize(&wire);
    size_t used;
    RankMap back;
    ASSERT_TRUE(RankMap::deserialize(wire, &used, &back).ok());
    EXPECT_EQ(used, wire.size());
    compare(back, pairs, true);
    for (size_t cut = 0; cut < wire.size(); ++cut)
      EXPECT_FALSE(RankMap::deserialize({wire.data(), cut}, &used, &back).ok());
  }
}

/// A random list of ranks of a parent of n members, for each model of a child in turn.
std::vector<int32_t> child_ranks(int kind, int32_t n, std::mt19937& random) {
  auto below = [&](int32_t m) { return static_cast<int32_t>(random() % static_cast<uint32_t>(m)); };
  std::vector<int32_t> ranks;
  int32_t offset = below(n), stride = 1 + below(3), block = 1 + below(4),
          gap = block + 1 + below(4);
  switch (kind) {
    case 0:
      return ranks;
    case 1:  // direct, or part of it
      for (int32_t r = 0; r < (random() % 2 ? n : offset + 1); ++r) ranks.push_back(r);
      return ranks;
    case 2:  // offset
      for (int32_t r = offset; r < n; ++r) ranks.push_back(r);
      return ranks;
    case 3:  // stride up, or down
      for (int32_t r = offset; r < n; r += stride) ranks.push_back(r);
      if (random() % 2) std::reverse(ranks.begin(), ranks.end());
      return ranks;
    case 4:  // blockstride
      for (int32_t first = 0; first + block <= n; first += gap)
        for (int32_t r = first; r < first + block; ++r) ranks.push_back(r);
      return ranks;
    case 5:  // a grid of grids
      for (int32_t z = 0; z + 7 < n; z += 9)
        for (int32_t y = z; y < z + 6; y += 4)
          for (int32_t x = y; x < y + 2; ++x) ranks.push_back(x);
      return ranks;
    default:  // anything
      for (int32_t r = 0; r < n; ++r)
        if (random() % 4) ranks.push_back(r);
      std::shuffle(ranks.begin(), ranks.end(), random);
      return ranks;
  }
}

TEST_F(Mlut, ChildrenOfEveryModelAndTheirChildren) {
  set_up_groups();
  std::mt19937 random(29);
  int still_merged = 0, ordinary = 0;
  for (int k = 0; k < 300; ++k) {
    Pairs pairs = everyone();
    // Half of the lists stay sorted, so that a child can have members of the own group only.
    if (k % 2) std::shuffle(pairs.begin(), pairs.end(), random);
    RankMap map;
    ASSERT_TRUE(merged_map(pairs, &map).ok());
    for (int generation = 0; generation < 4 && map.size() > 0; ++generation) {
      RankMap child =
          RankMap::from_ranks(child_ranks((k + generation * 3) % 7, map.size(), random));
      Pairs expected;
      for (int32_t r = 0; r < child.size(); ++r)
        expected.push_back(pairs[static_cast<size_t>(child.world_of(r))]);
      RankMap made = RankMap::compose(map, child);
      compare(made, expected);
      bool merged = made.model() == RankMap::Model::kMlut;
      // In the table a direct child is the whole parent; one that is only its first ranks counts as
      // an offset.
      bool part = child.model() == RankMap::Model::kDirect && child.size() < map.size();
      EXPECT_LE(made.model(), RankMap::compose_model(
                                  map.model(), part ? RankMap::Model::kOffset : child.model()));
      merged ? ++still_merged : ++ordinary;
      map = made;
      pairs = expected;
    }
  }
  EXPECT_GT(still_merged, 100);
  EXPECT_GT(ordinary, 100);
}

TEST_F(Mlut, AnotherOrderOfAMergedGroup) {
  set_up_groups();
  std::mt19937 random(31);
  for (int k = 0; k < 50; ++k) {
    Pairs pairs = everyone(), reordered = pairs;
    std::shuffle(pairs.begin(), pairs.end(), random);
    std::shuffle(reordered.begin(), reordered.end(), random);
    RankMap parent, child;
    ASSERT_TRUE(merged_map(pairs, &parent).ok());
    ASSERT_TRUE(merged_map(reordered, &child).ok());
    compare(RankMap::permuted(parent, child), reordered);
    EXPECT_TRUE(parent.similar(child));
    EXPECT_EQ(parent.identical(child), pairs == reordered);
  }
}

TEST_F(Mlut, BadMembersAreRefused) {
  set_up_groups();
  RankMap map;
  EXPECT_FALSE(merged_map({{3, 0}, {0, 0}}, &map).ok());
  EXPECT_FALSE(merged_map({{1, 5}, {0, 0}}, &map).ok());
  EXPECT_FALSE(merged_map({{1, 2}, {0, 2}, {1, 2}}, &map).ok());
  EXPECT_EQ(RankMap::compose_model(RankMap::Model::kMlut, RankMap::Model::kStride),
            RankMap::Model::kMlut);
}

}  // namespace
}  // namespace fgmpi
