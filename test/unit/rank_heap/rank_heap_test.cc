// The heap of a rank beside a naive model: blocks never overlap, keep what was written, are
// aligned, and all memory comes back.
#include "heap/rank_heap.h"

#include "base/page.h"
#include "heap/blocks.h"
#include "heap/leaks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace fgmpi::heap {
namespace {

Ranks ranks_of(uint32_t here, uint64_t first, uint64_t total, size_t image_bytes = 0) {
  Ranks ranks{};
  ranks.ranks = here;
  ranks.first = first;
  ranks.total = total;
  ranks.image_bytes = image_bytes;
  ranks.image_alignment = 4096;
  return ranks;
}

class RankHeapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(slots_.place(ranks_of(4, 4, 12, 100000)).ok());
    const Status mapped = slots_.map();
    ASSERT_TRUE(mapped.ok()) << mapped.what();
  }
  void TearDown() override { munmap(slots_.places.slots, slots_.all + page_bytes()); }

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

TEST(SlotsOfJob, FollowFromTheWorldRankAlone) {
  const char* end = nullptr;
  for (uint32_t process = 0; process < 5; ++process) {
    Slots slots;
    ASSERT_TRUE(slots.place(ranks_of(1000, process * 1000, 5000, 50000)).ok());
    EXPECT_GE(slots.places.slots, end);
    end = slots.places.slots + 1000 * slots.stride();
    EXPECT_EQ(slots.rank_of(slots.of_rank(7) + 5), 7u);
    EXPECT_EQ(slots.offset_of(slots.of_rank(7) + 5), 5u);
    Slots one;
    ASSERT_TRUE(one.place(ranks_of(1, process * 1000 + 7, 5000, 50000)).ok());
    EXPECT_EQ(one.of_rank(0), slots.of_rank(7));
    EXPECT_EQ(slots.owner_of(slots.places.slots), 0);
    EXPECT_EQ(slots.owner_of(slots.of_rank(3) - 1), 3);
    EXPECT_EQ(slots.owner_of(slots.of_rank(3) + slots.heap_bytes() - 1), 3);
    EXPECT_EQ(slots.owner_of(slots.of_rank(3) + slots.heap_bytes()), 4);
    EXPECT_EQ(slots.owner_of(slots.places.slots - 1), -1);
    EXPECT_EQ(slots.owner_of(end), -1);
  }
  EXPECT_LE(reinterpret_cast<uintptr_t>(end), kFirst + kAll);
}

TEST(SlotsOfJob, FindTheRankOfEachAddress) {
  std::mt19937_64 random(7);
  for (uint64_t total :
       {uint64_t{1}, uint64_t{100}, uint64_t{128}, uint64_t{5000}, uint64_t{1000000}})
    for (size_t alignment : {size_t{4096}, size_t{2} << 20}) {
      Ranks ranks = ranks_of(static_cast<uint32_t>(total), 0, total);
      ranks.image_alignment = alignment;
      Slots slots;
      ASSERT_TRUE(slots.place(ranks).ok());
      EXPECT_EQ(slots.stride() % alignment, 0u);
      EXPECT_FALSE(std::has_single_bit(slots.stride()));
      for (int i = 0; i < 10000; ++i) {
        const uint64_t rank = random() % total;
        // Near the ends of a slot, and anywhere.
        const size_t offset = i % 3 == 0   ? random() % 64
                              : i % 3 == 1 ? slots.stride() - 1 - random() % 64
                                           : random() % slots.stride();
        const char* at = slots.places.slots + rank * slots.stride() + offset;
        ASSERT_EQ(slots.owner_of(at), static_cast<int64_t>(rank));
        if (offset < slots.places.heap) continue;
        ASSERT_EQ(slots.rank_of(at), rank);
        ASSERT_EQ(slots.offset_of(at), offset - slots.places.heap);
        ASSERT_EQ(slots.of_rank(static_cast<uint32_t>(rank)) + slots.offset_of(at), at);
      }
    }
}

TEST(SlotsInFiles, AreTheSameMemoryWhereTheyAreMapped) {
  Slots slots;
  Ranks ranks = ranks_of(4, 4, 12, 100000);
  ranks.in_file = true;
  Slots apart;
  ASSERT_TRUE(apart.place(ranks_of(4, 4, 12, 100000)).ok());
  ASSERT_TRUE(slots.place(ranks).ok());
  EXPECT_EQ(slots.slot_of(4), apart.places.slots);
  EXPECT_EQ(slots.own_first, 4u);
  ASSERT_TRUE(slots.map().ok());
  // As if another process had made the slots 8 to 11.
  ASSERT_TRUE(slots.map_others(slots.places.file, 8, 4));
  EXPECT_FALSE(slots.map_others(slots.places.file, 8, 4)) << "they are mapped already";
  RankHeap* heap = RankHeap::at(slots.of_rank(6));
  heap->begin(slots, 0);
  EXPECT_TRUE(heap->is_in_file());
  auto* block = static_cast<char*>(heap->allocate(100000));
  std::memset(block, 7, 100000);
  const char* other = block + 4 * slots.stride();
  EXPECT_EQ(std::memcmp(block, other, 100000), 0);
  EXPECT_EQ(slots.owner_of(block), 6);
  EXPECT_EQ(slots.owner_of(other), 10);
  auto* page = reinterpret_cast<char*>(page_up(reinterpret_cast<uintptr_t>(block)));
  EXPECT_TRUE(slots.drop(page, page_bytes()));
  EXPECT_EQ(page[0], 0);
  EXPECT_EQ(page[4 * slots.stride()], 0) << "the page has gone from all places";
  EXPECT_EQ(page[page_bytes()], 7);
  const size_t offset = heap->mappings().take(heap, 3 * page_bytes(), true);
  char* mapping = heap->address_of(offset);
  std::memset(mapping, 1, 3 * page_bytes());
  mprotect(mapping, page_bytes(), PROT_NONE);
  ASSERT_TRUE(heap->mappings().give_up(heap, offset, 3 * page_bytes()));
  reset_mappings(heap, offset, 3 * page_bytes());
  EXPECT_EQ(mapping[0] + mapping[2 * page_bytes()], 0) << "writable, and zero";
  // Slots that are added are private memory, behind those of the job.
  ASSERT_TRUE(slots.extend(14));
  RankHeap* added = RankHeap::at(slots.of_rank(13));
  added->begin(slots, 0);
  EXPECT_FALSE(added->is_in_file());
  munmap(slots.slot_of(4), 10 * slots.stride() + page_bytes());
  close(slots.places.file);
}

TEST(SlotsOfJob, HaveRoomForStackAndImage) {
  for (uint64_t total : {uint64_t{1}, uint64_t{9}, uint64_t{4096}, uint64_t{1000000}})
    for (size_t image : {size_t{0}, size_t{5000}, size_t{400} << 10}) {
      Slots slots;
      ASSERT_TRUE(slots.place(ranks_of(1, total - 1, total, image)).ok());
      const SlotPlaces& places = slots.places;
      EXPECT_GE(places.stacks_end, slots.stride() / 8 < kMostBeforeStacksEnd
                                       ? slots.stride() / 8
                                       : kMostBeforeStacksEnd);
      EXPECT_GE(places.images, places.stacks_end);
      EXPECT_GE(places.heap, places.images + image);
      EXPECT_EQ(places.heap % kSpanBytes, 0u);
      EXPECT_GT(slots.heap_bytes(), slots.half() + slots.stride() / 8 - 1);
    }
  Slots many;
  EXPECT_TRUE(many.place(ranks_of(500000, 500000, 1000000)).ok());
  EXPECT_GE(many.shift, 24u);
  EXPECT_FALSE(many.place(ranks_of(1 << 20, 0, uint64_t{1} << 40)).ok());
  EXPECT_FALSE(many.place(ranks_of(1, 0, 1000000, size_t{16} << 20)).ok());
}

TEST_F(RankHeapTest, TellsAllMemoryThatWasInUse) {
  RankHeap* heap = make(0);
  std::mt19937 random(3);
  std::vector<std::pair<char*, size_t>> used;
  for (int i = 0; i < 3000; ++i) {
    const size_t bytes = size_t{1} << random() % 18;
    used.emplace_back(static_cast<char*>(heap->allocate(bytes)), bytes);
  }
  const size_t mapped = heap->mappings().take(heap, 5 * page_bytes(), true);
  ASSERT_NE(mapped, 0u);
  used.emplace_back(heap->address_of(mapped), 5 * page_bytes());
  used.emplace_back(heap->address_of(0), sizeof *heap);
  size_t before = 0, mappings = 0;
  std::vector<std::pair<char*, char*>> ranges;
  heap->visit_memory([&](size_t first, size_t end, bool is_mapping) {
    EXPECT_GE(first, before);
    EXPECT_GT(end, first);
    EXPECT_EQ(first % page_bytes(), 0u);
    EXPECT_EQ(end % page_bytes(), 0u);
    before = end;
    mappings += is_mapping;
    ranges.emplace_back(heap->address_of(first), heap->address_of(end));
  });
  EXPECT_EQ(mappings, 1u);
  for (const auto& [at, bytes] : used) {
    bool inside = false;
    for (const auto& [low, high] : ranges) inside |= at >= low && at + bytes <= high;
    EXPECT_TRUE(inside);
  }
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
    madvise(heap, slots_.heap_bytes(), MADV_DONTNEED);
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

TEST_F(RankHeapTest, MappingsBesideAModel) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    std::mt19937 random(seed);
    RankHeap* heap = make(seed % 4);
    RankMappings& mappings = heap->mappings();
    std::map<size_t, bool> pages;  // in use: charged?
    constexpr size_t kPage = 4096;
    for (int step = 0; step < 3000; ++step) {
      const size_t bytes = (1 + random() % 9) * kPage;
      if (random() % 2) {
        const bool charged = random() % 3 != 0;
        const size_t at = mappings.take(heap, bytes, charged);
        ASSERT_NE(at, 0u);
        ASSERT_TRUE(mappings.has(at, bytes));
        for (size_t page = at; page < at + bytes; page += kPage)
          ASSERT_TRUE(pages.emplace(page, charged).second);
      } else if (!pages.empty() && random() % 4 == 0) {
        // Makes a run of pages longer where nothing is behind it.
        const auto last = std::prev(pages.end());
        const size_t end = last->first + kPage;
        const bool charged = last->second;
        ASSERT_TRUE(mappings.grow(heap, end, bytes));
        for (size_t page = end; page < end + bytes; page += kPage) pages[page] = charged;
      } else {
        const size_t at = mappings.first() + random() % 400 * kPage;
        ASSERT_TRUE(mappings.give_up(heap, at, bytes));
        for (size_t page = at; page < at + bytes; page += kPage) pages.erase(page);
      }
      EXPECT_EQ(mappings.any(), !pages.empty());
    }
    uint64_t charged = 0;
    for (const auto& [page, is] : pages) charged += is ? kPage : 0;
    const uint64_t before = heap->taken();
    ASSERT_TRUE(mappings.give_up(heap, mappings.first(), size_t{1} << 30));
    EXPECT_EQ(before - heap->taken(), charged);
    EXPECT_FALSE(mappings.any());
    madvise(heap, slots_.heap_bytes(), MADV_DONTNEED);
  }
}

TEST(BlockPlaces, BesideAModel) {
  std::mt19937 random(3);
  std::map<uintptr_t, size_t> model;
  for (int step = 0; step < 200000; ++step) {
    const uintptr_t block = kFirst + random() % 6000 * 16;
    if (random() % 2) {
      add_block(reinterpret_cast<void*>(block), random() % 100, nullptr);
      model[block] = 0;
    } else {
      remove_block(reinterpret_cast<void*>(block));
      model.erase(block);
    }
  }
  const std::vector<PlacedBlock> all = blocks_between(kFirst, kFirst + kAll);
  ASSERT_EQ(all.size(), model.size());
  size_t i = 0;
  for (const auto& [block, unused] : model) EXPECT_EQ(~all[i++].inverted, block);
  const uintptr_t middle = kFirst + 3000 * 16;
  EXPECT_EQ(blocks_between(kFirst, middle).size(),
            static_cast<size_t>(std::distance(model.begin(), model.lower_bound(middle))));
  for (const auto& [block, unused] : model) remove_block(reinterpret_cast<void*>(block));
  EXPECT_TRUE(blocks_between(kFirst, kFirst + kAll).empty());
}

TEST(Leaks, AreWhatNoPointerLeadsTo) {
  // Random graphs of blocks beside a search in the model.
  constexpr size_t kBlocks = 200, kWords = 6;
  static uintptr_t memory[kBlocks][kWords];
  const auto low = reinterpret_cast<uintptr_t>(memory);
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::vector<size_t>> leads(kBlocks);
    for (size_t i = 0; i < kBlocks; ++i) {
      add_block(memory[i], sizeof memory[i], reinterpret_cast<void*>(1 + i % 7));
      for (size_t w = 0; w < kWords; ++w) {
        memory[i][w] = random() % 3 ? random() : 0;
        if (random() % 8) continue;
        const size_t to = random() % kBlocks;
        memory[i][w] = reinterpret_cast<uintptr_t>(memory[to]) + random() % sizeof memory[to];
        leads[i].push_back(to);
      }
    }
    uintptr_t roots[3];
    std::vector<bool> reached(kBlocks);
    std::vector<size_t> open;
    for (uintptr_t& root : roots) {
      open.push_back(random() % kBlocks);
      root = reinterpret_cast<uintptr_t>(memory[open.back()]);
    }
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      if (reached[at]) continue;
      reached[at] = true;
      open.insert(open.end(), leads[at].begin(), leads[at].end());
    }
    const MemoryRange range = {reinterpret_cast<char*>(roots), reinterpret_cast<char*>(roots + 3)};
    std::map<size_t, uint64_t> expected;
    for (size_t i = 0; i < kBlocks; ++i)
      if (!reached[i]) ++expected[1 + i % 7];
    const std::vector<LeakedBlocks> found = find_leaks(low, low + sizeof memory, &range, 1);
    ASSERT_EQ(found.size(), expected.size());
    for (const LeakedBlocks& leak : found) {
      EXPECT_EQ(leak.blocks, expected[reinterpret_cast<uintptr_t>(leak.place)]);
      EXPECT_EQ(leak.bytes, leak.blocks * sizeof memory[0]);
    }
    for (auto& block : memory) remove_block(block);
  }
}

TEST_F(RankHeapTest, TheLimitHoldsForMappings) {
  RankHeap* heap = make(1, 1 << 20);
  EXPECT_EQ(heap->mappings().take(heap, 1 << 20, true), 0u);
  EXPECT_NE(heap->mappings().take(heap, size_t{1} << 30, false), 0u);
  const size_t at = heap->mappings().take(heap, 1 << 19, true);
  ASSERT_NE(at, 0u);
  EXPECT_FALSE(heap->mappings().grow(heap, at + (1 << 19), 1 << 19));
  EXPECT_EQ(heap->mappings().take(heap, slots_.heap_bytes(), false), 0u);
}

}  // namespace
}  // namespace fgmpi::heap
