// Compares every encoding and strategy, on every kind of group, with the plain vector of its ranks.
#include <gtest/gtest.h>

#include <map>

#include "groupmap/codec.h"
#include "groupmap/groupmap.h"
#include "groups.h"

namespace fgmpi::groupmap {
namespace {

using testing::Group;
using testing::Random;
using testing::Ranks;

void expect_range(const MapRef& map, const Ranks& ranks, const Ranks& sorted, Random& random) {
  int32_t n = map.size();
  int32_t first = testing::below(random, n), count = testing::below(random, n - first + 1);
  Ranks out(static_cast<size_t>(count));
  map.select_range(first, count, out.data());
  ASSERT_TRUE(std::equal(out.begin(), out.end(), ranks.begin() + first)) << first << "+" << count;
  map.ordered_range(first, count, out.data());
  ASSERT_TRUE(std::equal(out.begin(), out.end(), sorted.begin() + first)) << first << "+" << count;
}

void expect_same(const MapRef& map, const Ranks& ranks, Random& random) {
  ASSERT_EQ(map.size(), static_cast<int32_t>(ranks.size()));
  std::string reason;
  ASSERT_TRUE(map.validate(&reason)) << reason;
  Ranks sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  ASSERT_EQ(map.ordered(), sorted == ranks);
  ASSERT_EQ(map.expand(), ranks);
  for (int32_t i = 0; i < map.size(); ++i) ASSERT_EQ(map.select(i), ranks[i]) << i;
  // rank() of BWT decodes all blocks, so only some ranks are tested.
  int32_t step = map.encoding() == Encoding::bwt ? 97 : 1;
  for (int32_t i = 0; i < map.size(); i += step) ASSERT_EQ(map.rank(ranks[i]), i);
  for (int32_t w : {-1, INT32_MIN, INT32_MAX, 0})
    ASSERT_EQ(map.contains(w), std::binary_search(sorted.begin(), sorted.end(), w)) << w;
  for (int k = 0; k < 300 && !ranks.empty(); k += step) {
    int32_t w = sorted[testing::below(random, map.size())] - 4;
    if (w < INT32_MAX - 9) w += testing::below(random, 9);
    if (k % 3 == 0) w = testing::below(random, sorted.back() / 2 + 1);
    ASSERT_EQ(map.contains(w), std::binary_search(sorted.begin(), sorted.end(), w)) << w;
  }
  for (int step = 0; step < 5 && !ranks.empty(); ++step) expect_range(map, ranks, sorted, random);
  Reader reader(map);
  for (int step = 0; step < 20 && !ranks.empty(); ++step) {
    int32_t i = testing::below(random, map.size());
    ASSERT_EQ(reader.select(i), ranks[i]);
  }
  std::vector<Piece> pieces;
  if (map.pieces(pieces)) {
    Ranks expanded;
    for (size_t k = 0; k < pieces.size(); ++k) {
      int32_t end = k + 1 < pieces.size() ? pieces[k + 1].index : map.size();
      for (int32_t i = pieces[k].index; i < end; ++i)
        expanded.push_back(pieces[k].value + (i - pieces[k].index) * pieces[k].stride);
    }
    ASSERT_EQ(expanded, ranks);
  }
}

void expect_round_trip(const MapRef& map, const Ranks& ranks) {
  std::vector<uint8_t> bytes;
  map.serialize(bytes);
  MapRef copy;
  Status status = MapRef::deserialize(bytes, &copy);
  ASSERT_TRUE(status.ok()) << status.what();
  ASSERT_EQ(copy.expand(), ranks);
  ASSERT_EQ(copy.encoding(), map.encoding());
  ASSERT_EQ(copy.bytes(), map.bytes());
  for (size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 40)
    ASSERT_FALSE(MapRef::deserialize(std::span(bytes).first(length), &copy).ok()) << length;
}

TEST(Encodings, AgreeWithTheVector) {
  Random random(1);
  std::map<Encoding, int> built;
  for (const Group& group : testing::all_groups(random)) {
    for (Encoding encoding : all_encodings()) {
      SCOPED_TRACE(group.name + " as " + encoding_name(encoding));
      MapRef map;
      Status status = build_as(encoding, group.ranks, &map);
      if (!status.ok()) {
        EXPECT_NE(status.what().find(encoding_name(encoding)), std::string::npos) << status.what();
        continue;
      }
      ++built[encoding];
      ASSERT_EQ(map.encoding(), map.shape() == Shape::kStored ? encoding : Encoding::regular);
      ASSERT_NO_FATAL_FAILURE(expect_same(map, group.ranks, random));
      ASSERT_NO_FATAL_FAILURE(expect_round_trip(map, group.ranks));
    }
  }
  for (Encoding encoding : all_encodings())
    EXPECT_GE(built[encoding], 4) << encoding_name(encoding);
}

TEST(Encodings, EstimatesAreNearTheTruth) {
  Random random(2);
  for (const Group& group : testing::all_groups(random)) {
    for (const Estimate& estimate : estimates(group.ranks)) {
      SCOPED_TRACE(group.name + " as " + encoding_name(estimate.encoding));
      MapRef map;
      Status status = build_as(estimate.encoding, group.ranks, &map);
      if (!status.ok()) continue;  // the encoding finds only while building that it exceeds a limit
      double bytes = static_cast<double>(map.bytes());
      EXPECT_LT(bytes, 1.3 * estimate.cost.bytes + 128);
      EXPECT_GT(estimate.cost.select_ns, 0);
    }
  }
}

TEST(Strategies, StoreEveryGroupRight) {
  Random random(3);
  for (const Group& group : testing::all_groups(random)) {
    size_t least = SIZE_MAX;
    for (Encoding encoding : all_encodings()) {
      MapRef map;
      if (build_as(encoding, group.ranks, &map).ok()) least = std::min(least, map.bytes());
    }
    for (Strategy strategy : {Strategy::space(), Strategy::time(), Strategy::hybrid()}) {
      SCOPED_TRACE(group.name + " for " + strategy_name(strategy));
      MapRef map;
      ASSERT_TRUE(build(group.ranks, strategy, &map).ok());
      ASSERT_NO_FATAL_FAILURE(expect_same(map, group.ranks, random));
      ASSERT_NO_FATAL_FAILURE(expect_round_trip(map, group.ranks));
      if (strategy == Strategy::space()) {
        EXPECT_LE(map.bytes(), least * 1.3 + 64) << map.describe();
      }
    }
  }
}

TEST(Strategies, BuildFromPiecesIsBuildFromRanks) {
  Random random(4);
  for (const Group& group : testing::all_groups(random)) {
    Stats stats = gather(group.ranks);
    if (!stats.pieces_complete) continue;
    for (Strategy strategy : {Strategy::space(), Strategy::time(), Strategy::hybrid()}) {
      SCOPED_TRACE(group.name + " for " + strategy_name(strategy));
      MapRef map, direct;
      ASSERT_TRUE(build(stats.pieces, stats.size, strategy, &map).ok());
      ASSERT_TRUE(build(group.ranks, strategy, &direct).ok());
      ASSERT_EQ(map.expand(), group.ranks);
      ASSERT_EQ(map.describe(), direct.describe());
    }
  }
}

TEST(Strategies, AreReadFromTheirNames) {
  for (const char* name : {"space", "time", "hybrid"}) {
    Strategy strategy;
    EXPECT_TRUE(parse_strategy(name, &strategy).ok());
    EXPECT_EQ(strategy_name(strategy), name);
  }
  for (Encoding encoding : all_encodings()) {
    Strategy strategy;
    EXPECT_TRUE(parse_strategy(encoding_name(encoding), &strategy).ok());
    EXPECT_EQ(strategy, Strategy::named(encoding));
  }
  Strategy strategy;
  Status bad = parse_strategy("quick", &strategy);
  EXPECT_EQ(bad.error_class(), kErrArg);
  EXPECT_NE(bad.what().find("\"quick\": allowed is space, time, hybrid, "), std::string::npos)
      << bad.what();
}

/// A build without BuDDy or CRoaring refuses what needs it, with the library's name.
TEST(Strategies, NameTheLibraryThatThisBuildLacks) {
  std::span<const Encoding> here = all_encodings();
  const std::pair<Encoding, const char*> optional[] = {{Encoding::bdd, "BuDDy"},
                                                       {Encoding::roaring, "CRoaring"}};
  for (auto [encoding, library] : optional) {
    const std::string name = encoding_name(encoding);
    Strategy strategy;
    MapRef map;
    const Status parsed = parse_strategy(name, &strategy);
    const Status built = build_as(encoding, Ranks{3, 5, 6, 8, 9}, &map);
    const bool has = std::find(here.begin(), here.end(), encoding) != here.end();
    EXPECT_EQ(parsed.ok(), has);
    EXPECT_EQ(built.ok(), has);
    if (has) continue;
    EXPECT_NE(parsed.what().find("this build has no " + std::string(library)), std::string::npos);
    EXPECT_NE(built.what().find("as " + name + ": this build lacks it"), std::string::npos);
  }
}

TEST(Strategies, RefuseNegativeRanks) {
  MapRef map;
  for (Strategy strategy : {Strategy::space(), Strategy::named(Encoding::array)}) {
    Status status = build(std::vector<int32_t>{3, -2, 8}, strategy, &map);
    EXPECT_EQ(status.error_class(), kErrRank);
  }
}

TEST(Handles, AreSmallAndShareTheirMap) {
  EXPECT_LE(sizeof(MapRef), 40u);
  MapRef map;
  ASSERT_TRUE(build_as(Encoding::array, Ranks{3, 1, 2}, &map).ok());
  MapRef copy = map, other;
  EXPECT_TRUE(copy.same(map));
  EXPECT_EQ(copy.stored(), map.stored());
  other = std::move(copy);
  map = MapRef(Regular::stride(5, 9, -2));
  EXPECT_EQ(other.select(0), 3);
  EXPECT_FALSE(other.same(map));
  EXPECT_EQ(map.describe(), "stride");
  EXPECT_EQ(map.bytes(), sizeof(MapRef));
}

TEST(RegularMaps, AreDetectedAndEvaluated) {
  Random random(5);
  for (int step = 0; step < 400; ++step) {
    Ranks ranks = testing::random_grid(random);
    Stats stats = gather(ranks);
    ASSERT_TRUE(stats.regular) << step;
    Regular shape;
    ASSERT_TRUE(detect_regular(ranks, &shape));
    ASSERT_EQ(shape, stats.shape);
    ASSERT_TRUE(shape.validate(nullptr));
    MapRef map(shape);
    for (int32_t i = 0; i < map.size(); ++i) {
      ASSERT_EQ(map.select(i), ranks[i]);
      ASSERT_EQ(shape.at(i), ranks[i]);
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(map, ranks, random));
  }
}

TEST(RegularMaps, BadShapesAreRefused) {
  auto shape = [](int32_t offset, std::vector<Regular::Level> levels) {
    Regular regular;
    regular.offset = offset;
    regular.levels = static_cast<int32_t>(levels.size());
    std::copy(levels.begin(), levels.end(), regular.level);
    return regular;
  };
  std::string reason;
  EXPECT_FALSE(shape(0, {{4, 1}, {4, 3}}).validate(&reason));
  EXPECT_EQ(reason, "levels overlap");
  EXPECT_FALSE(shape(0, {{4, 0}}).validate(&reason));
  EXPECT_FALSE(shape(3, {{5, -1}}).validate(&reason));
  EXPECT_FALSE(shape(INT32_MAX, {{2, 1}}).validate(&reason));
  EXPECT_FALSE(shape(0, {{1 << 20, 1}, {1 << 20, 1 << 20}}).validate(&reason));
  EXPECT_TRUE(shape(3, {{4, -1}, {4, 4}}).validate(&reason)) << reason;
}

}  // namespace
}  // namespace fgmpi::groupmap
