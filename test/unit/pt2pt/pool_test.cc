#include "pt2pt/pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

namespace fgmpi::pt2pt {
namespace {

TEST(BlockPool, EveryClassHoldsWhatItIsFor) {
  for (size_t n = 1; n < 200'000; n += n < 5000 ? 1 : 37) {
    uint8_t c = BlockPool::class_of(n);
    ASSERT_LE(c, BlockPool::kClasses);
    if (c == BlockPool::kClasses) {
      ASSERT_GT(n, BlockPool::size_of(BlockPool::kClasses - 1));
      continue;
    }
    ASSERT_GE(BlockPool::size_of(c), n);
    if (c > 0) {
      ASSERT_LT(BlockPool::size_of(c - 1), n) << "a smaller class would do";
    }
  }
}

TEST(BlockPool, TellTheTrimmerOfMuchThatWasFreed) {
  static BlockPool blocks;
  const uint8_t c = BlockPool::class_of(1000);
  for (size_t count :
       {100u, 5000u}) {  // the cache keeps all of 100 blocks, and frees most of 5,000
    std::vector<void*> live;
    for (size_t i = 0; i < count; ++i) live.push_back(blocks.take(1000, c));
    EXPECT_FALSE(blocks.trim());
    for (void* block : live) blocks.give(block, c);
    EXPECT_EQ(blocks.trim(), count == 5000);
    EXPECT_FALSE(blocks.trim()) << "once";
  }
  blocks.count_freed(2 * BlockPool::kKept);
  EXPECT_TRUE(blocks.trim());
}

TEST(BlockPool, KeepTheirContents) {
  std::mt19937_64 random(3);
  static BlockPool blocks;  // keeps its blocks until the process ends, as the engine's object does
  struct Block {
    unsigned char* p;
    size_t n;
    uint8_t c;
    int value;
  };
  std::vector<Block> live;
  for (int step = 0; step < 20'000; ++step) {
    if (live.empty() || random() % 5 < 3) {
      size_t n = 1 + random() % (random() % 10 ? 2000 : 150'000);
      uint8_t c = BlockPool::class_of(n);
      Block b{static_cast<unsigned char*>(blocks.take(n, c)), n, c,
              static_cast<int>(random() & 255)};
      memset(b.p, b.value, n);
      live.push_back(b);
    } else {
      size_t i = random() % live.size();
      Block b = live[i];
      for (size_t k = 0; k < b.n; k += 97) ASSERT_EQ(b.p[k], b.value);
      blocks.give(b.p, b.c);
      live[i] = live.back();
      live.pop_back();
    }
  }
  for (Block& b : live) blocks.give(b.p, b.c);
}

struct Thing {
  char bytes[200];
};

TEST(Pool, ShrinksAfterABurstAndNotBefore) {
  static Pool<Thing> pool;  // pools are for the life of a process
  std::vector<void*> things;
  for (int i = 0; i < 10'000; ++i) {
    things.push_back(pool.take());
    memset(things.back(), i & 255, sizeof(Thing));
  }
  const size_t most = pool.chunks();
  EXPECT_GE(most, 10'000 / 64);
  for (int calls = 0; calls < 10; ++calls) pool.trim();
  EXPECT_EQ(pool.chunks(), most) << "all are in use";
  // Every hundredth stays in use.
  std::vector<void*> kept;
  for (size_t i = 0; i < things.size(); ++i) {
    if (i % 100 == 0)
      kept.push_back(things[i]);
    else
      pool.give(things[i]);
  }
  for (int calls = 0; calls < 200; ++calls) pool.trim();
  for (size_t i = 0; i < kept.size(); ++i)
    for (char c : static_cast<Thing*>(kept[i])->bytes) ASSERT_EQ(c, static_cast<char>(i * 100));
  EXPECT_LT(pool.chunks(), 110u);
  for (void* p : kept) pool.give(p);
  int calls = 0;
  while (pool.trim()) ASSERT_LT(++calls, 200);
  EXPECT_LT(pool.chunks(), 10u);
  // The remaining chunks still work.
  std::set<void*> distinct;
  for (int i = 0; i < 1000; ++i) {
    void* p = pool.take();
    memset(p, 1, sizeof(Thing));
    EXPECT_TRUE(distinct.insert(p).second);
  }
  for (void* p : distinct) pool.give(p);
}

TEST(Pool, WhatIsNeededAgainAndAgainIsKept) {
  static Pool<Thing> pool;  // pools are for the life of a process
  size_t refills = 0;
  std::vector<void*> things;
  for (int round = 0; round < 1000; ++round) {
    const size_t before = pool.chunks();
    for (int i = 0; i < 1000; ++i) things.push_back(pool.take());
    refills += pool.chunks() > before;
    for (void* p : things) pool.give(p);
    things.clear();
    pool.trim();
  }
  EXPECT_LT(refills, 40u);
}

}  // namespace
}  // namespace fgmpi::pt2pt
