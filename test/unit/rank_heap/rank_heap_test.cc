// The heap of a rank beside a naive model: blocks never overlap, keep what was written, are
// aligned, and all memory comes back.
#include "heap/rank_heap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace fgmpi::heap {
namespace {

class RankHeapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(slots_.place(1, 3, 4).ok());
    const Status mapped = slots_.map(4);
    ASSERT_TRUE(mapped.ok()) << mapped.what();
  }
  void TearDown() override { munmap(slots_.of_rank(0), slots_.bytes); }

  RankHeap* make(uint32_t rank, uint64_t limit = 0) {
    RankHeap* heap = RankHeap::at(slots_.of_rank(rank));
    EXPECT_FALSE(heap->exists());
    heap->begin(slots_, limit);
    return heap;
  }
  void free(RankHeap* heap, void* block) { heap->free(block, slots_.offset_of(block)); }
  size_t size_of(RankHeap* heap, void* block) {
    return heap->size_of(block, slots_.offset_of(block));
  }

  Slots slots_;
};

TEST(SizeNumbers, CoverEachSizeOnce) {
  for (size_t bytes = 0; bytes <= kMostSmall; ++bytes) {
    const unsigned number = size_number(bytes);
    ASSERT_LT(number, kSizes);
    EXPECT_GE(size_of_number(number), bytes);
    if (number > 0) {
      EXPECT_LT(size_of_number(number - 1), bytes);
    }
  }
  for (size_t bytes = kMostSmall + 1; bytes <= kMostKept; ++bytes) {
    const unsigned number = kept_number(bytes);
    ASSERT_LT(number, kKeptSizes);
    ASSERT_GE(size_of_kept(number), bytes);
    ASSERT_LE(size_of_kept(number), bytes + bytes / 8);
  }
}

TEST(SlotsOfJob, AreApartAndFollowFromNumbersAlone) {
  uintptr_t end = kFirst;
  for (uint32_t process = 0; process < 5; ++process) {
    Slots slots;
    ASSERT_TRUE(slots.place(process, 5, 1000).ok());
    EXPECT_GE(slots.first, end);
    end = slots.first + slots.bytes;
    EXPECT_EQ(slots.rank_of(slots.of_rank(7) + 5), 7u);
    EXPECT_EQ(slots.offset_of(slots.of_rank(7) + 5), 5u);
  }
  EXPECT_LE(end, kFirst + kAll);
  Slots many;
  EXPECT_TRUE(many.place(1, 2, 500000).ok());
  EXPECT_GE(many.shift, 24u);
  EXPECT_FALSE(many.place(0, 1 << 20, 1 << 20).ok());
}

TEST_F(RankHeapTest, AnIdleHeapHasOnePage) {
  RankHeap* heap = make(0);
  std::vector<void*> blocks;
  for (size_t bytes : {1, 24, 100, 300, 500, 16, 64}) blocks.push_back(heap->allocate(bytes));
  EXPECT_EQ(heap->use().taken, 4096u);
  for (void* block : blocks) {
    EXPECT_LT(slots_.offset_of(block), 4096u);
    free(heap, block);
  }
  EXPECT_EQ(heap->use().in_use, 0u);
}

TEST_F(RankHeapTest, RandomProgramsBesideAModel) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    std::mt19937 random(seed);
    RankHeap* heap = make(seed % 4 == 0 ? 1 : seed % 4);
    struct Block {
      size_t size;
      unsigned char with;
    };
    std::map<char*, Block> model;
    uint64_t asked = 0;
    for (int step = 0; step < 60000; ++step) {
      if (model.size() < 800 && (model.empty() || random() % 2)) {
        const size_t kind = random() % 16;
        const size_t size = kind == 0  ? random() % 300000
                            : kind < 4 ? random() % 9000
                                       : random() % 700;
        const size_t alignment = random() % 20 == 0 ? size_t{32} << random() % 9 : 16;
        auto* block = static_cast<char*>(heap->allocate_aligned(alignment, size));
        ASSERT_NE(block, nullptr);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
        ASSERT_EQ(slots_.rank_of(block), slots_.rank_of(heap));
        ASSERT_GE(size_of(heap, block), size);
        const auto with = static_cast<unsigned char>(random());
        const auto after = model.lower_bound(block);
        if (after != model.end()) {
          ASSERT_LE(block + size, after->first);
        }
        if (after != model.begin()) {
          ASSERT_LE(std::prev(after)->first + std::prev(after)->second.size, block);
        }
        std::memset(block, with, size);
        model[block] = {size, with};
        asked += size;
        continue;
      }
      auto at = model.lower_bound(std::next(model.begin(), random() % model.size())->first);
      auto& [block, is] = *at;
      for (size_t i = 0; i < is.size; i += 1 + is.size / 9)
        ASSERT_EQ(static_cast<unsigned char>(block[i]), is.with);
      if (is.size) {
        ASSERT_EQ(static_cast<unsigned char>(block[is.size - 1]), is.with);
      }
      if (slots_.offset_of(block) >= slots_.half() && random() % 4 == 0 &&
          heap->grow_in_place(block, is.size + 5000)) {
        is.size += 5000;
        ASSERT_GE(size_of(heap, block), is.size);
        std::memset(block, is.with, is.size);
        continue;
      }
      asked -= is.size;
      if (random() % 5 == 0)
        heap->give_back(block);
      else
        free(heap, block);
      model.erase(at);
    }
    EXPECT_GE(heap->use().in_use, asked > 0 ? 1u : 0u);
    for (const auto& [block, is] : model) free(heap, block);
    free(heap, heap->allocate(100000));  // takes what was given back
    EXPECT_EQ(heap->use().in_use, 0u);
    madvise(heap, (size_t{1} << slots_.shift) - 65536, MADV_DONTNEED);
  }
}

TEST_F(RankHeapTest, TheLimitHolds) {
  RankHeap* heap = make(2, 1 << 20);
  size_t got = 0;
  std::vector<void*> blocks;
  while (void* block = heap->allocate(1000)) {
    blocks.push_back(block);
    got += 1000;
    ASSERT_LE(got, size_t{1} << 20);
  }
  EXPECT_GE(got, (size_t{1} << 20) * 8 / 10);
  EXPECT_EQ(heap->allocate(size_t{1} << 20), nullptr);
  EXPECT_LE(heap->use().most, uint64_t{1} << 20);
  for (void* block : blocks) free(heap, block);
  EXPECT_NE(heap->allocate(size_t{1} << 19), nullptr);
}

TEST_F(RankHeapTest, OtherThreadsGiveBlocksBack) {
  RankHeap* heap = make(3);
  std::vector<void*> blocks;
  for (int i = 0; i < 20000; ++i) blocks.push_back(heap->allocate(static_cast<size_t>(i % 5000)));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = t; i < blocks.size(); i += 4) heap->give_back(blocks[i]);
    });
  for (std::thread& thread : threads) thread.join();
  free(heap, heap->allocate(100000));  // takes what was given back
  EXPECT_EQ(heap->use().in_use, 0u);
}

}  // namespace
}  // namespace fgmpi::heap
