// Tests of packed colors and keys: unpacking returns the packed values, and any bytes of a peer are
// refused or harmless.
#include "comm/split_wire.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <random>

namespace fgmpi::comm {
namespace {

std::vector<int32_t> ranks_of(const std::vector<SplitMember>& members) {
  std::vector<int32_t> ranks;
  for (const SplitMember& m : members) ranks.push_back(m.rank);
  return ranks;
}

void expect_round_trip(const std::vector<SplitMember>& members) {
  std::vector<uint8_t> bytes;
  pack_split(members, &bytes);
  append(&bytes, uint32_t{0xabcdu});  // unpacking must not read these bytes
  FieldReader in(bytes.data(), bytes.size());
  std::vector<SplitEntry> entries;
  ASSERT_TRUE(unpack_split(&in, ranks_of(members), 3, &entries));
  EXPECT_EQ(in.get<uint32_t>(), 0xabcdu);
  size_t k = 0;
  for (const SplitMember& m : members) {
    if (m.color == MPI_UNDEFINED) continue;
    ASSERT_LT(k, entries.size());
    EXPECT_EQ(entries[k].color, static_cast<uint32_t>(m.color));
    EXPECT_EQ(entries[k].key, sortable_key(m.key));
    EXPECT_EQ(entries[k].rank, m.rank);
    EXPECT_EQ(entries[k++].origin, 3u);
  }
  EXPECT_EQ(k, entries.size());
}

TEST(SplitWire, RoundTripOfEveryWidth) {
  std::mt19937_64 random(1);
  const int64_t ranges[] = {1, 2, 255, 256, 257, 65'536, 65'537, int64_t{1} << 31};
  for (int64_t colors : ranges) {
    for (int64_t keys : ranges) {
      for (bool signs : {false, true}) {
        std::vector<SplitMember> members(random() % 50);
        int32_t rank = 0;
        for (SplitMember& m : members) {
          rank += 1 + static_cast<int32_t>(random() % 3);
          int64_t key = static_cast<int64_t>(random() % static_cast<uint64_t>(keys));
          m = {static_cast<int32_t>(random() % static_cast<uint64_t>(colors)),
               static_cast<int32_t>(signs ? -1 - key : key), rank};
          if (random() % 5 == 0) m.color = MPI_UNDEFINED;
        }
        expect_round_trip(members);
      }
    }
  }
  expect_round_trip({{0, INT32_MIN, 0}, {INT32_MAX, INT32_MAX, INT32_MAX}});
}

TEST(SplitWire, KeysThatAreTheRankTakeNoRoom) {
  std::vector<SplitMember> members;
  for (int32_t r = 0; r < 1000; ++r) members.push_back({7, r - 500, r});
  std::vector<uint8_t> bytes;
  pack_split(members, &bytes);
  EXPECT_EQ(bytes.size(), 4u + 8 + 1 + 8 + 1 + 1);
}

/// Makes a message of two members from its fields.
std::vector<uint8_t> message(uint32_t members, int64_t color_base, uint8_t color_width,
                             int64_t key_base, uint8_t key_width, size_t tail) {
  std::vector<uint8_t> bytes;
  append(&bytes, members);
  append(&bytes, color_base);
  append(&bytes, color_width);
  append(&bytes, key_base);
  append(&bytes, uint8_t{0});
  append(&bytes, key_width);
  bytes.insert(bytes.end(), tail, uint8_t{1});
  return bytes;
}

TEST(SplitWire, MalformedMessagesAreRefused) {
  auto good = [](const std::vector<uint8_t>& bytes) {
    FieldReader in(bytes.data(), bytes.size());
    std::vector<SplitEntry> entries;
    return unpack_split(&in, {4, 5}, 0, &entries);
  };
  EXPECT_TRUE(good(message(2, 1, 1, 0, 1, 4)));
  EXPECT_TRUE(good(message(2, 1, 8, 0, 8, 0)) == false);  // too short
  EXPECT_FALSE(good(message(3, 1, 1, 0, 1, 6)));          // another number of members
  EXPECT_FALSE(good(message(2, 1, 1, 0, 1, 3)));
  EXPECT_FALSE(good(message(2, -3, 1, 0, 1, 4)));  // a color below 0
  EXPECT_FALSE(good(message(2, int64_t{1} << 32, 1, 0, 1, 4)));
  EXPECT_FALSE(good(message(2, 1, 1, int64_t{1} << 31, 1, 4)));
  EXPECT_FALSE(good(message(2, INT64_MAX, 1, INT64_MIN, 1, 4)));
  for (int width = 9; width < 256; ++width) {  // more than a number can hold
    EXPECT_FALSE(good(message(2, 1, static_cast<uint8_t>(width), 0, 1, 4 * 256))) << width;
    EXPECT_FALSE(good(message(2, 1, 1, 0, static_cast<uint8_t>(width), 4 * 256))) << width;
  }
}

TEST(SplitWire, SortsAsStableSortDoes) {
  std::mt19937_64 random(2);
  for (uint32_t range : {1u, 3u, 5000u, 1u << 22, ~0u}) {
    std::vector<SplitEntry> entries(random() % 3000);
    for (size_t i = 0; i < entries.size(); ++i)
      entries[i] = {static_cast<uint32_t>(random() % range),
                    static_cast<uint32_t>(random() % range), static_cast<int32_t>(i), 0};
    auto expected = entries;
    std::stable_sort(expected.begin(), expected.end(),
                     [](const auto& a, const auto& b) { return a.key < b.key; });
    sort_by(&entries, &SplitEntry::key);
    for (size_t i = 0; i < entries.size(); ++i) ASSERT_EQ(entries[i].rank, expected[i].rank);
    sort_by_rank(&entries);
    for (size_t i = 0; i < entries.size(); ++i) ASSERT_EQ(entries[i].rank, static_cast<int32_t>(i));
  }
}

}  // namespace
}  // namespace fgmpi::comm
