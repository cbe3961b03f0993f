#include "coll/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace fgmpi::coll {
namespace {

TEST(Memory, LongBlocksAreUsedAgain) {
  Memory first = raw_memory(300'000);
  char* address = first.get();
  first.reset();
  EXPECT_GE(cached_bytes(), 300'000u);
  Memory again = raw_memory(200'000);
  EXPECT_EQ(again.get(), address);
  // Neither a short block nor one that is longer than the stored block gets its memory.
  again.reset();
  EXPECT_NE(raw_memory(100).get(), address);
  EXPECT_NE(raw_memory(300'001).get(), address);
}

TEST(Memory, KeepsNoMoreThanItsBound) {
  std::mt19937 random(5);
  std::vector<Memory> held;
  for (int step = 0; step < 3000; ++step) {
    if (random() % 2) {
      size_t bytes = size_t{1} << (random() % 25);
      Memory block = raw_memory(bytes);
      std::memset(block.get(), step, bytes);
      held.push_back(std::move(block));
    } else if (!held.empty()) {
      held.erase(held.begin() + static_cast<long>(random() % held.size()));
    }
    if (held.size() > 20) held.clear();
    ASSERT_LE(cached_bytes(), kCachedBytes);
  }
  held.clear();
  size_t before = cached_bytes();
  raw_memory(kCachedBytes + 1);
  EXPECT_EQ(cached_bytes(), before);
}

/// Blocks in use never overlap.
TEST(Memory, NobodyElseHasIt) {
  std::vector<Memory> held;
  for (int i = 0; i < 40; ++i) {
    held.push_back(raw_memory(kLongBlock + static_cast<size_t>(i) * 1000));
    std::memset(held.back().get(), i, kLongBlock);
    if (i % 3 == 2) held[static_cast<size_t>(i / 2)].reset();
  }
  for (size_t i = 0; i < held.size(); ++i)
    for (size_t at = 0; held[i] && at < kLongBlock; at += 4096)
      ASSERT_EQ(held[i][at], static_cast<char>(i));
}

}  // namespace
}  // namespace fgmpi::coll
