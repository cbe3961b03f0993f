// Compares set algebra, ranges, translation and comparison with plain vectors and sets.
#include "groupmap/algebra.h"

#include <gtest/gtest.h>

#include "groupmap/progression.h"
#include "groups.h"

namespace fgmpi::groupmap {
namespace {

using testing::below;
using testing::Group;
using testing::Random;
using testing::Ranks;

Ranks naive_combine(const Ranks& a, const Ranks& b, SetOperation operation) {
  std::set<int32_t> in_a(a.begin(), a.end()), in_b(b.begin(), b.end());
  Ranks result;
  for (int32_t rank : a)
    if (operation == SetOperation::kUnion ||
        in_b.count(rank) == (operation == SetOperation::kIntersection))
      result.push_back(rank);
  for (int32_t rank : b)
    if (operation == SetOperation::kUnion && !in_a.count(rank)) result.push_back(rank);
  return result;
}

constexpr SetOperation kOperations[] = {SetOperation::kUnion, SetOperation::kIntersection,
                                        SetOperation::kDifference};

void expect_operations(const MapRef& a, const MapRef& b, const Ranks& ranks_a,
                       const Ranks& ranks_b) {
  for (SetOperation operation : kOperations) {
    SCOPED_TRACE(static_cast<int>(operation));
    Ranks expected = naive_combine(ranks_a, ranks_b, operation);
    MapRef out;
    Status status = combine(a, b, operation, Strategy::hybrid(), &out);
    ASSERT_TRUE(status.ok()) << status.what();
    ASSERT_EQ(out.expand(), expected) << out.describe();
    std::string reason;
    ASSERT_TRUE(out.validate(&reason)) << reason;
    std::sort(expected.begin(), expected.end());
    ASSERT_TRUE(combine_sets(a, b, operation, Strategy::space(), &out).ok());
    ASSERT_EQ(out.expand(), expected) << out.describe();
    ASSERT_TRUE(out.ordered());
  }
}

TEST(Algebra, AllGroupsInAllEncodings) {
  Random random(11);
  std::vector<Group> groups = testing::all_groups(random);
  for (int step = 0; step < 600; ++step) {
    const Group &x = groups[random() % groups.size()], &y = groups[random() % groups.size()];
    auto pick = [&](const Group& group) {
      std::span<const Encoding> all = all_encodings();
      for (;;) {
        MapRef map;
        if (build_as(all[random() % all.size()], group.ranks, &map).ok()) return map;
      }
    };
    MapRef a = pick(x), b = pick(y);
    SCOPED_TRACE(x.name + " as " + a.describe() + ", " + y.name + " as " + b.describe());
    ASSERT_NO_FATAL_FAILURE(expect_operations(a, b, x.ranks, y.ranks));
  }
}

TEST(Algebra, TheSameEncodingOnBothSides) {
  Random random(12);
  for (Encoding encoding : {Encoding::bitmap, Encoding::roaring, Encoding::bdd, Encoding::runs,
                            Encoding::piecewise, Encoding::complement, Encoding::elias_fano}) {
    for (int step = 0; step < 25; ++step) {
      auto pick = [&]() -> Ranks {
        switch (random() % 5) {
          case 0:
            return testing::random_subset(random, 1 + below(random, 900), 3000);
          case 1:
            return testing::random_ranges(random, 1 + below(random, 40), 60, 30);
          case 2:
            return testing::iota(1 + below(random, 500), below(random, 900), 1 + below(random, 7));
          case 3:
            return testing::iota(1 + below(random, 300), 2 * below(random, 500), 2);
          default:
            return testing::without(testing::iota(2000, below(random, 500)), random,
                                    below(random, 30));
        }
      };
      Ranks ranks_a = pick(), ranks_b = pick();
      MapRef a, b;
      if (!build_as(encoding, ranks_a, &a).ok() || !build_as(encoding, ranks_b, &b).ok()) continue;
      SCOPED_TRACE(a.describe());
      ASSERT_NO_FATAL_FAILURE(expect_operations(a, b, ranks_a, ranks_b));
    }
  }
}

TEST(Algebra, StridesAreNotExpanded) {
  // The results have a sixth of the ranks of a world of 2^30: expanded they would take gigabytes.
  MapRef a(Regular::stride(1 << 29, 0, 2)), b(Regular::stride(357913941, 0, 3)), out;
  ASSERT_TRUE(combine(a, b, SetOperation::kIntersection, Strategy::hybrid(), &out).ok());
  EXPECT_EQ(out.describe(), "stride");
  EXPECT_EQ(out.size(), 178956971);
  EXPECT_EQ(out.select(100), 600);
  MapRef low(Regular::stride(1 << 30, 0, 1)), middle(Regular::stride(1000, 5000000, 1));
  ASSERT_TRUE(combine(low, middle, SetOperation::kDifference, Strategy::hybrid(), &out).ok());
  EXPECT_EQ(out.size(), (1 << 30) - 1000);
  EXPECT_LT(out.bytes(), 512u);
  EXPECT_EQ(out.rank(5001000), 5000000);
}

TEST(Algebra, ProgressionsIntersectAsSetsDo) {
  Random random(13);
  for (int step = 0; step < 3000; ++step) {
    auto pick = [&] {
      return Progression::of(below(random, 60), below(random, 23) + 1, 1 + below(random, 20));
    };
    Progression a = pick(), b = pick();
    std::optional<Progression> common = intersect(a, b);
    for (int64_t x = 0; x < 600; ++x)
      ASSERT_EQ(common && common->contains(x), a.contains(x) && b.contains(x))
          << step << " at " << x;
  }
}

TEST(Ranges, IncludeAndExcludeAgreeWithLists) {
  Random random(14);
  std::vector<Group> groups = testing::all_groups(random);
  for (int step = 0; step < 400; ++step) {
    const Group& group = groups[random() % groups.size()];
    int32_t n = static_cast<int32_t>(group.ranks.size());
    if (n < 4) continue;
    std::vector<RankRange> ranges;
    std::vector<bool> named(static_cast<size_t>(n));
    Ranks expected, others;
    for (int k = 0; k < 4; ++k) {
      int32_t stride = 1 + below(random, 5), first = below(random, n), last = below(random, n);
      if (first > last) stride = -stride;
      bool free = true;
      for (int32_t i = first; stride > 0 ? i <= last : i >= last; i += stride)
        free = free && !named[i];
      if (!free) continue;
      ranges.push_back({first, last, stride});
      for (int32_t i = first; stride > 0 ? i <= last : i >= last; i += stride) {
        named[i] = true;
        expected.push_back(group.ranks[i]);
      }
    }
    for (int32_t i = 0; i < n; ++i)
      if (!named[i]) others.push_back(group.ranks[i]);
    MapRef map, out;
    ASSERT_TRUE(build(group.ranks, Strategy::hybrid(), &map).ok());
    SCOPED_TRACE(group.name + " as " + map.describe());
    ASSERT_TRUE(range_include(map, ranges, Strategy::hybrid(), &out).ok());
    ASSERT_EQ(out.expand(), expected);
    ASSERT_TRUE(range_exclude(map, ranges, Strategy::hybrid(), &out).ok());
    ASSERT_EQ(out.expand(), others);
  }
}

TEST(Ranges, ListsAreRangesOfOne) {
  MapRef map(Regular::stride(10, 100, 5)), out;
  ASSERT_TRUE(include(map, Ranks{9, 0, 4}, Strategy::hybrid(), &out).ok());
  EXPECT_EQ(out.expand(), (Ranks{145, 100, 120}));
  ASSERT_TRUE(exclude(map, Ranks{9, 0, 4}, Strategy::hybrid(), &out).ok());
  EXPECT_EQ(out.expand(), (Ranks{105, 110, 115, 125, 130, 135, 140}));
}

TEST(Ranges, BadOnesAreNamed) {
  MapRef map(Regular::direct(10)), out;
  auto include_one = [&](RankRange range) {
    return range_include(map, std::vector{range}, Strategy::hybrid(), &out);
  };
  EXPECT_EQ(include_one({0, 10, 1}).what(), "rank 10 in a group of 10; allowed is 0 to 9");
  EXPECT_EQ(include_one({0, 10, 1}).error_class(), kErrRank);
  EXPECT_EQ(include_one({-1, 3, 1}).error_class(), kErrRank);
  EXPECT_EQ(include_one({0, 3, 0}).error_class(), kErrArg);
  EXPECT_EQ(exclude(map, Ranks{3, 3}, Strategy::hybrid(), &out).what(), "rank 3 is named twice");
  EXPECT_TRUE(include_one({3, 0, 1}).ok());
  EXPECT_EQ(out.size(), 0);
}

TEST(Translation, SingleAndBulk) {
  Random random(15);
  std::vector<Group> groups = testing::all_groups(random);
  for (int step = 0; step < 200; ++step) {
    const Group &x = groups[random() % groups.size()], &y = groups[random() % groups.size()];
    if (x.ranks.empty()) continue;
    MapRef a, b;
    ASSERT_TRUE(build(x.ranks, Strategy::hybrid(), &a).ok());
    ASSERT_TRUE(build(y.ranks, step % 2 ? Strategy::time() : Strategy::space(), &b).ok());
    Ranks ranks(100), out(100);
    for (int32_t& rank : ranks) rank = below(random, a.size());
    translate(a, ranks, b, out);
    for (size_t k = 0; k < ranks.size(); ++k) {
      auto at = std::find(y.ranks.begin(), y.ranks.end(), x.ranks[ranks[k]]);
      int32_t expected = at == y.ranks.end() ? -1 : static_cast<int32_t>(at - y.ranks.begin());
      ASSERT_EQ(out[k], expected);
      if (k < 5) {
        ASSERT_EQ(translate(a, ranks[k], b), expected);
      }
    }
  }
}

TEST(Comparisons, IdenticalSimilarUnequal) {
  Random random(16);
  for (const Group& group : testing::all_groups(random)) {
    if (group.ranks.size() < 3) continue;
    Ranks turned = group.ranks, changed = group.ranks;
    std::reverse(turned.begin(), turned.end());
    changed[1] = *std::max_element(changed.begin(), changed.end());
    if (changed[1] == INT32_MAX) continue;
    ++changed[1];
    MapRef a, b, c, d;
    ASSERT_TRUE(build(group.ranks, Strategy::hybrid(), &a).ok());
    ASSERT_TRUE(build_as(Encoding::array, group.ranks, &b).ok());
    ASSERT_TRUE(build(turned, Strategy::space(), &c).ok());
    ASSERT_TRUE(build(changed, Strategy::space(), &d).ok());
    EXPECT_EQ(compare(a, b), Comparison::kIdentical) << group.name;
    EXPECT_EQ(compare(a, a), Comparison::kIdentical);
    EXPECT_EQ(compare(a, c), Comparison::kSimilar) << group.name;
    EXPECT_EQ(compare(a, d), Comparison::kUnequal) << group.name;
    EXPECT_EQ(compare(a, MapRef()), Comparison::kUnequal);
  }
}

}  // namespace
}  // namespace fgmpi::groupmap
