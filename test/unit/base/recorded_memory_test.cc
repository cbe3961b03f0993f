// Blocks of the library's memory in recorded runs, beside a naive model of which bytes are in use.
#include "base/recorded_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace fgmpi {
namespace {

size_t g_mapped = 0, g_discarded = 0;

/// All memory that was mapped: blocks never give it back, so it goes when the process ends.
std::vector<std::unique_ptr<void, decltype(&std::free)>> g_maps;

void* map_for_test(size_t bytes) {
  g_mapped += bytes;
  g_maps.emplace_back(std::aligned_alloc(OwnBlocks::kMapped, bytes), &std::free);
  return g_maps.back().get();
}
void count_discarded(void* pages, size_t bytes) {
  g_discarded += bytes;
  std::memset(pages, 0, bytes);
}

struct BlockInUse {
  size_t bytes;
  unsigned char filled;
};

bool is_filled(const char* at, const BlockInUse& block) {
  for (size_t i = 0; i < block.bytes; ++i)
    if (static_cast<unsigned char>(at[i]) != block.filled) return false;
  return true;
}

TEST(OwnBlocks, BlocksAreAlignedAndApart) {
  OwnBlocks blocks(map_for_test, count_discarded);
  std::mt19937 random(7);
  std::map<char*, BlockInUse> used;
  for (int i = 0; i < 20000; ++i) {
    if (used.size() > 200 || (!used.empty() && random() % 3 == 0)) {
      auto one = std::next(used.begin(), static_cast<long>(random() % used.size()));
      ASSERT_TRUE(is_filled(one->first, one->second));
      blocks.give(one->first);
      used.erase(one);
      continue;
    }
    const size_t bytes = random() % (size_t{1} << (random() % 16));
    const size_t alignment = size_t{1} << (random() % 13);
    auto* const at = static_cast<char*>(blocks.take(bytes, alignment));
    ASSERT_NE(at, nullptr);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(at) % alignment, 0u);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(at) % alignof(std::max_align_t), 0u);
    const auto next = used.lower_bound(at);
    ASSERT_TRUE(next == used.end() || at + bytes <= next->first);
    ASSERT_TRUE(next == used.begin() ||
                std::prev(next)->first + std::prev(next)->second.bytes <= at);
    const auto filled = static_cast<unsigned char>(random());
    std::memset(at, filled, bytes);
    used[at] = {bytes, filled};
  }
  for (const auto& [at, block] : used) EXPECT_TRUE(is_filled(at, block));
}

TEST(OwnBlocks, FreedBlocksAreUsedAgain) {
  OwnBlocks blocks(map_for_test, count_discarded);
  for (const size_t bytes : {size_t{1}, size_t{100}, size_t{5000}, size_t{3} << 20}) {
    void* const first = blocks.take(bytes, 16);
    blocks.give(first);
    EXPECT_EQ(blocks.take(bytes, 16), first) << bytes;
  }
}

TEST(OwnBlocks, LongFreeBlocksHaveNoPages) {
  OwnBlocks blocks(map_for_test, count_discarded);
  constexpr size_t kLong = size_t{5} << 20;
  g_discarded = 0;
  blocks.give(blocks.take(1000, 16));
  EXPECT_EQ(g_discarded, 0u);
  blocks.give(blocks.take(kLong, 16));
  EXPECT_GE(g_discarded, kLong - 3 * 4096);
}

TEST(OwnBlocks, NoMemory) {
  OwnBlocks blocks([](size_t) -> void* { return nullptr; }, count_discarded);
  EXPECT_EQ(blocks.take(10, 16), nullptr);
  EXPECT_EQ(blocks.take(SIZE_MAX, 16), nullptr);
  EXPECT_EQ(blocks.take(SIZE_MAX / 2, 4096), nullptr);
}

}  // namespace
}  // namespace fgmpi
