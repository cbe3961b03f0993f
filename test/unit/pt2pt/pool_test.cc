#include "pt2pt/pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace fgmpi::pt2pt {
namespace {

TEST(Blocks, EveryClassHoldsWhatItIsFor) {
  for (size_t n = 1; n < 200'000; n += n < 5000 ? 1 : 37) {
    uint8_t c = Blocks::class_of(n);
    ASSERT_LE(c, Blocks::kClasses);
    if (c == Blocks::kClasses) {
      ASSERT_GT(n, Blocks::size_of(Blocks::kClasses - 1));
      continue;
    }
    ASSERT_GE(Blocks::size_of(c), n);
    if (c > 0) {
      ASSERT_LT(Blocks::size_of(c - 1), n) << "a smaller class would do";
    }
  }
}

TEST(Blocks, KeepTheirContents) {
  std::mt19937_64 random(3);
  static Blocks blocks;  // keeps what it is given, as the engine's does to the end
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
      uint8_t c = Blocks::class_of(n);
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

}  // namespace
}  // namespace fgmpi::pt2pt
