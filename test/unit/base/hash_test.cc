#include "base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/hash_table.h"

namespace fgmpi {
namespace {

TEST(Hash, MixIsABijectionThatSpreadsEachBit) {
  std::set<uint64_t> seen;
  for (uint64_t x = 0; x < 100'000; ++x) seen.insert(mix(x));
  EXPECT_EQ(seen.size(), 100'000u);
  for (int bit = 0; bit < 64; ++bit) {
    int changed = 0;
    for (uint64_t x = 1; x <= 1000; ++x)
      changed += std::popcount(mix(x * 77) ^ mix(x * 77 ^ uint64_t{1} << bit));
    EXPECT_NEAR(changed / 1000.0, 32, 1.5) << bit;
  }
}

TEST(Hash, OfTwoWordsKnowsTheirOrder) {
  std::set<uint64_t> seen;
  for (uint64_t a = 0; a < 300; ++a)
    for (uint64_t b = 0; b < 300; ++b) seen.insert(mix(a, b));
  EXPECT_EQ(seen.size(), 90'000u);
  EXPECT_NE(mix(1, 2), mix(2, 1));
}

/// Small tables take the lower bits: keys in a row, and far apart by powers of two, fill their
/// buckets evenly.
TEST(Hash, LowerBitsOfRegularKeysAreSpread) {
  for (int shift : {0, 3, 12, 24, 40}) {
    std::vector<int> buckets(256);
    for (uint64_t i = 0; i < 256 * 16; ++i) ++buckets[mix(i << shift) % 256];
    for (int n : buckets) {
      EXPECT_GT(n, 1) << shift;
      EXPECT_LT(n, 45) << shift;
    }
  }
}

TEST(Hash, OfBytesSeesEachBitAndTheLength) {
  std::string text(45, 'x');
  std::set<uint32_t> lower;
  std::set<uint64_t> whole;
  for (size_t length = 0; length <= text.size(); ++length) {
    whole.insert(hash_bytes(text.data(), length));
    lower.insert(static_cast<uint32_t>(hash_bytes(text.data(), length)));
  }
  EXPECT_EQ(whole.size(), text.size() + 1);
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ 1 << bit % 8);
    whole.insert(hash_bytes(other.data(), other.size()));
    lower.insert(static_cast<uint32_t>(hash_bytes(other.data(), other.size())));
  }
  EXPECT_EQ(whole.size(), text.size() + 1 + 8 * text.size());
  EXPECT_EQ(lower.size(), whole.size());
}

TEST(Hash, OfBytesIsThatOfTheWire) {
  // Processes of other builds must compute the same values.
  EXPECT_EQ(hash_bytes("", 0), 0u);
  EXPECT_EQ(static_cast<uint32_t>(hash_bytes("FM", 2)), 0x836f739au);
}

TEST(Hash, OfTextDependsOnTheSeed) {
  EXPECT_NE(hash_text("host", 1), hash_text("host", 2));
  EXPECT_NE(hash_text("host"), hash_text("hosu"));
  EXPECT_EQ(hash_text("host", 1), hash_text(std::string("ho") + "st", 1));
}

TEST(RandomSequence, IsFixedByItsSeed) {
  RandomSequence zero, seven(7), again(7);
  EXPECT_EQ(zero.next(), 0xe220a8397b1dcdafu) << "the first number of splitmix64";
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seven.next(), again.next());
  EXPECT_NE(seven.next(), zero.next());
}

struct Thing : HashTableHook {
  uint64_t id = 0;
  int value = 0;
};
struct ById {
  static uint64_t key(const Thing& t) { return t.id; }
  static uint64_t hash(uint64_t id) { return mix(id); }
};
struct ByIdBadly : ById {
  static uint64_t hash(uint64_t id) { return id % 3; }
};

template <class Traits>
void compare_with_map(uint64_t keys, int steps) {
  std::mt19937_64 random(keys);
  std::map<uint64_t, std::unique_ptr<Thing>> model;
  HashTable<Thing, Traits> table;
  for (int step = 0; step < steps; ++step) {
    const uint64_t id = random() % keys;
    auto known = model.find(id);
    ASSERT_EQ(table.find(id), known == model.end() ? nullptr : known->second.get());
    if (known == model.end()) {
      auto thing = std::make_unique<Thing>();
      thing->id = id;
      table.insert(thing.get());
      model.emplace(id, std::move(thing));
    } else if (random() % 2) {
      table.erase(known->second.get());
      model.erase(known);
    }
    ASSERT_EQ(table.size(), model.size());
    ASSERT_EQ(table.empty(), model.empty());
  }
  size_t seen = 0;
  table.for_each([&](Thing& t) {
    ++seen;
    EXPECT_EQ(model.at(t.id).get(), &t);
  });
  EXPECT_EQ(seen, model.size());
  EXPECT_GE(table.bytes(), 8 * model.size());
}

TEST(HashTable, IsAMap) {
  for (uint64_t keys : {1, 2, 17, 1000, 100'000}) compare_with_map<ById>(keys, 30'000);
}
TEST(HashTable, IsAMapWhereHashesAreAlike) { compare_with_map<ByIdBadly>(200, 5000); }

TEST(HashTable, CostsAnObjectEightBytes) { EXPECT_EQ(sizeof(HashTableHook), 8u); }

}  // namespace
}  // namespace fgmpi
