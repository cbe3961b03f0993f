// Tests of damaged wire forms: each is refused or, where the damage makes another valid map, read
// as that map; none crashes.
#include <gtest/gtest.h>

#include "groupmap/codec.h"
#include "groups.h"

namespace fgmpi::groupmap {
namespace {

using testing::Group;
using testing::Random;
using testing::Ranks;

/// Checks an accepted map: select and rank agree and stay in range.
void expect_usable(const MapRef& map, Random& random) {
  std::string reason;
  ASSERT_TRUE(map.validate(&reason)) << reason;
  Ranks some(16);
  for (int step = 0; step < 20 && map.size(); ++step) {
    int32_t i = static_cast<int32_t>(random() % static_cast<uint32_t>(map.size()));
    int32_t w = map.select(i);
    ASSERT_GE(w, 0);
    ASSERT_EQ(map.rank(w), i) << map.describe();
    int32_t count = std::min(16, map.size() - i);
    map.select_range(i, count, some.data());
    ASSERT_EQ(some[0], w);
    ASSERT_EQ(some[count - 1], map.select(i + count - 1));
    (void)map.rank(static_cast<int32_t>(random()));
  }
}

TEST(Corrupt, ChecksumRefusesEveryFlippedBit) {
  Random random(21);
  for (const Group& group : testing::all_groups(random)) {
    for (Encoding encoding : all_encodings()) {
      MapRef map, copy;
      if (!build_as(encoding, group.ranks, &map).ok()) continue;
      std::vector<uint8_t> bytes;
      map.serialize(bytes);
      for (int step = 0; step < 40; ++step) {
        size_t at = random() % bytes.size();
        uint8_t flip = static_cast<uint8_t>(1 << random() % 8);
        bytes[at] ^= flip;
        Status status = MapRef::deserialize(bytes, &copy);
        ASSERT_EQ(status.error_class(), kErrOther)
            << group.name << " as " << map.describe() << " at " << at;
        bytes[at] ^= flip;
      }
    }
  }
}

TEST(Corrupt, StructureRefusesWhatTheChecksumMissed) {
  Random random(22);
  int accepted = 0, refused = 0;
  for (const Group& group : testing::all_groups(random)) {
    for (Encoding encoding : all_encodings()) {
      MapRef map;
      if (!build_as(encoding, group.ranks, &map).ok()) continue;
      std::vector<uint8_t> bytes;
      ByteWriter writer(bytes);
      write_map(map, writer);
      // Decoding of BWT blocks is slow.
      for (int step = 0, steps = encoding == Encoding::bwt ? 30 : 120; step < steps; ++step) {
        std::vector<uint8_t> damaged = bytes;
        for (uint32_t flips = 1 + random() % 3; flips > 0; --flips)
          damaged[random() % std::min<size_t>(damaged.size(), step % 2 ? SIZE_MAX : 24)] ^=
              static_cast<uint8_t>(step % 3 ? 1 << random() % 8 : random());
        if (random() % 8 == 0) damaged.resize(random() % damaged.size());
        ByteReader reader(damaged);
        std::string why;
        std::optional<MapRef> read = read_map(reader, &why);
        SCOPED_TRACE(group.name + " as " + map.describe());
        ++(read ? accepted : refused);
        if (!read) {
          ASSERT_FALSE(why.empty());
        } else {
          ASSERT_NO_FATAL_FAILURE(expect_usable(*read, random));
        }
      }
    }
  }
  EXPECT_GT(refused, accepted / 4);
  EXPECT_GT(accepted, 0);
}

TEST(Corrupt, RandomBytesAreRefused) {
  Random random(23);
  MapRef map;
  for (int step = 0; step < 20000; ++step) {
    std::vector<uint8_t> bytes(random() % 200);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    EXPECT_FALSE(MapRef::deserialize(bytes, &map).ok());
    ByteReader reader(bytes);
    std::string why;
    if (std::optional<MapRef> read = read_map(reader, &why)) {
      ASSERT_NO_FATAL_FAILURE(expect_usable(*read, random));
    }
  }
}

TEST(Corrupt, NestingIsBounded) {
  // A composite whose set is a composite whose set is ...: each level takes three bytes.
  std::vector<uint8_t> bytes;
  for (int k = 0; k < 100000; ++k) {
    bytes.push_back(static_cast<uint8_t>(Encoding::permuted));
    bytes.push_back(1);
  }
  ByteReader reader(bytes);
  std::string why;
  EXPECT_FALSE(read_map(reader, &why).has_value());
}

}  // namespace
}  // namespace fgmpi::groupmap
