// Compares rank maps with plain vectors of world ranks.
#include "ch4-av-rankmap/rankmap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace fgmpi {
namespace {

using Model = RankMap::Model;
using Ranks = std::vector<int32_t>;

Ranks expand(const RankMap& map) {
  Ranks out(static_cast<size_t>(map.size()));
  map.world_range(0, map.size(), out.data());
  return out;
}

/// Compares the results of all functions of a map with the list.
void compare(const RankMap& map, const Ranks& ranks) {
  ASSERT_EQ(map.size(), static_cast<int32_t>(ranks.size()));
  std::string why;
  EXPECT_TRUE(map.validate(&why)) << why;
  EXPECT_EQ(expand(map), ranks);
  for (size_t r = 0; r < ranks.size(); ++r) {
    ASSERT_EQ(map.world_of(static_cast<int32_t>(r)), ranks[r]);
    ASSERT_EQ(map.rank_of(ranks[r]), static_cast<int32_t>(r));
  }
  int32_t top = ranks.empty() ? 0 : *std::max_element(ranks.begin(), ranks.end());
  std::mt19937 random(7);
  for (int k = 0; k < 20; ++k) {
    int32_t a = static_cast<int32_t>(random() % static_cast<uint32_t>(top + 3));
    int32_t b = a + static_cast<int32_t>(random() % static_cast<uint32_t>(top + 3));
    Ranks expected, got;
    for (size_t r = 0; r < ranks.size(); ++r)
      if (ranks[r] >= a && ranks[r] < b) expected.push_back(static_cast<int32_t>(r));
    map.ranks_within(a, b, &got);
    ASSERT_EQ(got, expected) << "in [" << a << ", " << b << ")";
    ASSERT_EQ(map.count_within(a, b), static_cast<int32_t>(expected.size()));
  }
}

Ranks block_ranks(int32_t blocks, int32_t block, int32_t stride, int32_t offset) {
  Ranks out;
  for (int32_t b = 0; b < blocks; ++b)
    for (int32_t i = 0; i < block; ++i) out.push_back(offset + b * stride + i);
  return out;
}

Ranks grid_ranks() {  // a sub-grid of a 10 x 10 x 10 grid
  Ranks out;
  for (int32_t x = 2; x < 6; ++x)
    for (int32_t y = 1; y < 9; y += 2)
      for (int32_t z = 0; z < 10; z += 3) out.push_back(x * 100 + y * 10 + z);
  return out;
}

Ranks shuffled(int32_t n, uint32_t seed) {
  Ranks out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), 5);
  std::shuffle(out.begin(), out.end(), std::mt19937(seed));
  return out;
}

Ranks picked(int32_t n, int32_t of, uint32_t seed) {
  Ranks out = shuffled(of, seed);
  out.resize(static_cast<size_t>(n));
  std::sort(out.begin(), out.end());
  return out;
}

TEST(RankMap, ModelsOfLists) {
  compare(RankMap::from_ranks({}), {});
  EXPECT_EQ(RankMap::from_ranks({}).model(), Model::kEmpty);
  struct Case {
    Ranks ranks;
    Model model;
  };
  Ranks direct(100), backward(100);
  std::iota(direct.begin(), direct.end(), 0);
  for (int32_t i = 0; i < 100; ++i) backward[static_cast<size_t>(i)] = 99 - i;
  for (const Case& c :
       {Case{direct, Model::kDirect}, Case{block_ranks(1, 50, 1, 7), Model::kOffset},
        Case{block_ranks(40, 1, 3, 2), Model::kStride}, Case{backward, Model::kStride},
        Case{block_ranks(10, 4, 9, 1), Model::kBlockStride},
        Case{grid_ranks(), Model::kMdBlockStride}, Case{shuffled(200, 1), Model::kLut},
        Case{picked(300, 1000, 2), Model::kLut}}) {
    RankMap map = RankMap::from_ranks(c.ranks);
    EXPECT_EQ(map.model(), c.model) << map.model_name();
    compare(map, c.ranks);
  }
}

TEST(RankMap, Strided) {
  for (int32_t stride : {1, 2, 7, -1, -3}) {
    for (int32_t size : {1, 2, 50}) {
      Ranks ranks;
      for (int32_t r = 0; r < size; ++r) ranks.push_back(500 + r * stride);
      compare(RankMap::strided(size, 500, stride), ranks);
    }
  }
}

TEST(RankMap, RegularOfAnySizeIsSmall) {
  EXPECT_LE(RankMap::direct(1 << 30).bytes(), 64u);
  EXPECT_LE(RankMap::strided(1 << 20, 5, 7).bytes(), 64u);
  EXPECT_LE(RankMap::from_ranks(block_ranks(1000, 40, 100, 3)).bytes(), 64u);
}

TEST(RankMap, ComposeAgreesWithTheListsAndWithTableII) {
  std::vector<Ranks> parents = {block_ranks(1, 60, 1, 0),
                                block_ranks(1, 60, 1, 9),
                                block_ranks(60, 1, 4, 3),
                                block_ranks(15, 4, 9, 1),
                                grid_ranks(),
                                shuffled(60, 3),
                                picked(60, 400, 4)};
  for (const Ranks& parent_ranks : parents) {
    RankMap parent = RankMap::from_ranks(parent_ranks);
    auto n = static_cast<int32_t>(parent_ranks.size());
    Ranks all(parent_ranks.size());
    std::iota(all.begin(), all.end(), 0);
    Ranks odd, back(all.rbegin(), all.rend());
    for (int32_t r = 1; r < n; r += 2) odd.push_back(r);
    Ranks mixed = all;
    std::shuffle(mixed.begin(), mixed.end(), std::mt19937(5));
    for (const Ranks& child_ranks : {all, Ranks(all.begin() + 10, all.begin() + 40), odd, back,
                                     mixed, block_ranks(4, 3, 10, 2), Ranks{}, Ranks{3}}) {
      RankMap child = RankMap::from_ranks(child_ranks);
      RankMap made = RankMap::compose(parent, child);
      Ranks expected;
      for (int32_t r : child_ranks) expected.push_back(parent_ranks[static_cast<size_t>(r)]);
      compare(made, expected);
      // The table is an upper bound: an irregular result may turn out regular, never the other way
      // round.
      EXPECT_LE(made.model(), RankMap::compose_model(parent.model(), child.model()))
          << parent.model_name() << " o " << child.model_name();
    }
  }
}

TEST(RankMap, ADuplicateSharesAStoredMap) {
  RankMap parent = RankMap::from_ranks(shuffled(5000, 6));
  RankMap copy = RankMap::compose(parent, RankMap::direct(5000));
  EXPECT_TRUE(copy.encoded().same(parent.encoded()));
}

TEST(RankMap, IdenticalAndSimilar) {
  Ranks ranks = shuffled(3000, 8), sorted = ranks, other = ranks;
  std::sort(sorted.begin(), sorted.end());
  std::swap(other[10], other[2000]);
  RankMap a = RankMap::from_ranks(ranks), again = RankMap::from_ranks(ranks),
          b = RankMap::from_ranks(sorted), c = RankMap::from_ranks(other);
  EXPECT_TRUE(a.identical(again));
  EXPECT_FALSE(a.identical(b));
  EXPECT_FALSE(a.identical(c));
  EXPECT_TRUE(a.similar(b));
  EXPECT_TRUE(a.similar(c));
  EXPECT_FALSE(a.similar(RankMap::direct(3000)));
  EXPECT_FALSE(a.similar(RankMap::direct(2)));
}

TEST(RankMap, WireFormRoundTripsAndCorruptInputIsRefused) {
  for (const Ranks& ranks : {Ranks{}, block_ranks(1, 60, 1, 9), block_ranks(15, 4, 9, 1),
                             grid_ranks(), shuffled(900, 3)}) {
    std::vector<uint8_t> bytes{1, 2, 3};
    RankMap map = RankMap::from_ranks(ranks);
    map.serialize(&bytes);
    map.serialize(&bytes);
    std::span<const uint8_t> in(bytes.data() + 3, bytes.size() - 3);
    for (int k = 0; k < 2; ++k) {
      size_t used;
      RankMap back;
      ASSERT_TRUE(RankMap::deserialize(in, &used, &back).ok());
      compare(back, ranks);
      in = in.subspan(used);
    }
    EXPECT_TRUE(in.empty());
    size_t used;
    RankMap out;
    for (size_t cut = 0; cut < (bytes.size() - 3) / 2; ++cut)
      EXPECT_FALSE(RankMap::deserialize({bytes.data() + 3, cut}, &used, &out).ok()) << cut;
  }
}

TEST(RankMap, StrategyByName) {
  groupmap::Strategy array;
  ASSERT_TRUE(groupmap::parse_strategy("array", &array).ok());
  Ranks ranks = shuffled(100, 9);
  RankMap map = RankMap::from_ranks(ranks, array);
  EXPECT_EQ(map.encoded().encoding(), groupmap::Encoding::array);
  compare(map, ranks);
}

TEST(RankMap, RandomListsUnderEveryStrategy) {
  std::mt19937 random(11);
  for (const char* name : {"space", "time", "hybrid"}) {
    groupmap::Strategy strategy;
    ASSERT_TRUE(groupmap::parse_strategy(name, &strategy).ok());
    for (int k = 0; k < 30; ++k) {
      auto n = static_cast<int32_t>(random() % 400);
      Ranks ranks = random() % 2 ? shuffled(n, random()) : picked(n, n * 3 + 1, random());
      compare(RankMap::from_ranks(ranks, strategy), ranks);
    }
  }
}

TEST(RankMap, PermutationsShareTheStoredSet) {
  std::mt19937 random(13);
  for (const char* name :
       {"packed", "array", "elias-fano", "bitmap", "wavelet", "permuted", "hybrid", "space"}) {
    groupmap::Strategy strategy;
    ASSERT_TRUE(groupmap::parse_strategy(name, &strategy).ok()) << name;
    for (int32_t n : {3, 50, 700}) {
      Ranks ranks = picked(n, 3 * n + 5, random());
      if (random() % 2) std::shuffle(ranks.begin(), ranks.end(), random);
      RankMap parent = RankMap::from_ranks(ranks, strategy);
      std::shuffle(ranks.begin(), ranks.end(), random);
      RankMap map = RankMap::permuted(parent, RankMap::from_ranks(ranks));
      compare(map, ranks);
      if (parent.regular() || map.regular() || parent.encoded().same(map.encoded())) continue;
      const groupmap::MapRef* base = map.encoded().stored()->base();
      ASSERT_NE(base, nullptr);
      const groupmap::MapRef* set = parent.encoded().stored()->base();
      EXPECT_TRUE(base->same(set ? *set : parent.encoded())) << name;
      // A permutation of a permutation has the same set: permutations form no chain.
      std::shuffle(ranks.begin(), ranks.end(), random);
      RankMap next = RankMap::permuted(map, RankMap::from_ranks(ranks));
      compare(next, ranks);
      if (!next.regular() && !next.encoded().same(map.encoded())) {
        EXPECT_TRUE(next.encoded().stored()->base()->same(*base));
      }
      std::vector<uint8_t> wire;
      next.serialize(&wire);
      size_t used;
      RankMap back;
      ASSERT_TRUE(RankMap::deserialize(wire, &used, &back).ok());
      compare(back, ranks);
    }
  }
}

}  // namespace
}  // namespace fgmpi
