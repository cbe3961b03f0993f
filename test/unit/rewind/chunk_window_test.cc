// The compressor of recordings: what is packed is unpacked to the same bytes, and broken input is refused.
#include "rewind/chunk_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "rewind/numbers.h"

namespace fgmpi::rewind {
namespace {

using Bytes = std::vector<uint8_t>;

/// Chunks of random bytes of an alphabet, which repeat with a period.
Bytes chunk_of(std::mt19937* random, unsigned alphabet, size_t period) {
  Bytes chunk(kChunkBytes);
  for (size_t i = 0; i < chunk.size(); ++i)
    chunk[i] = i < period ? static_cast<uint8_t>((*random)() % alphabet) : chunk[i - period];
  return chunk;
}

/// False: this build has no LZ4.
bool packs() {
  const Bytes zeros(kChunkBytes);
  Bytes packed(kChunkBytes);
  return std::make_unique<ChunkWindow>()->pack(zeros.data(), packed.data(), packed.size()) > 0;
}

TEST(ChunkWindow, UnpacksWhatItHasPacked) {
  std::mt19937 random(1);
  for (const unsigned alphabet : {1u, 2u, 7u, 256u})
    for (const size_t period : {size_t{1}, size_t{5}, size_t{10'000}, kChunkBytes}) {
      auto packer = std::make_unique<ChunkWindow>(), unpacker = std::make_unique<ChunkWindow>();
      for (int i = 0; i < 4; ++i) {
        const Bytes chunk = chunk_of(&random, alphabet, period);
        Bytes packed(kChunkBytes), back(kChunkBytes);
        const size_t size = packer->pack(chunk.data(), packed.data(), packed.size() - 1);
        if (size == 0) {
          EXPECT_TRUE(alphabet == 256 || !packs());
          unpacker->add(chunk.data());
          continue;
        }
        ASSERT_TRUE(unpacker->unpack(packed.data(), size, back.data()));
        EXPECT_EQ(chunk, back);
      }
    }
}

TEST(ChunkWindow, FindsTheChunkBefore) {
  if (!packs()) GTEST_SKIP() << "this build has no LZ4";
  std::mt19937 random(2);
  Bytes chunk = chunk_of(&random, 256, kChunkBytes);
  Bytes packed(2 * kChunkBytes);
  auto packer = std::make_unique<ChunkWindow>();
  packer->pack(chunk.data(), packed.data(), packed.size());
  std::rotate(chunk.begin(), chunk.begin() + 1000, chunk.end());
  EXPECT_LT(packer->pack(chunk.data(), packed.data(), packed.size()), kChunkBytes / 8);
}

TEST(ChunkWindow, PacksChunksThatNeedNoOther) {
  if (!packs()) GTEST_SKIP() << "this build has no LZ4";
  std::mt19937 random(4);
  for (const unsigned alphabet : {1u, 7u, 256u}) {
    const Bytes chunk = chunk_of(&random, alphabet, kChunkBytes);
    Bytes packed(kChunkBytes), back(kChunkBytes);
    const size_t size = pack_alone(chunk.data(), packed.data(), packed.size() - 1);
    EXPECT_EQ(size == 0, alphabet == 256);
    if (size == 0) continue;
    ASSERT_TRUE(unpack_alone(packed.data(), size, back.data()));
    EXPECT_EQ(chunk, back);
    EXPECT_FALSE(unpack_alone(packed.data(), size - 1, back.data()));
    for (int i = 0; i < 2'000; ++i) {
      packed[random() % size] = static_cast<uint8_t>(random());
      unpack_alone(packed.data(), size, back.data());
    }
  }
}

TEST(ChunkWindow, RefusesBrokenInput) {
  if (!packs()) GTEST_SKIP() << "this build has no LZ4";
  std::mt19937 random(3);
  const Bytes chunk = chunk_of(&random, 3, 1'000);
  Bytes packed(kChunkBytes), back(kChunkBytes);
  auto packer = std::make_unique<ChunkWindow>();
  const size_t size = packer->pack(chunk.data(), packed.data(), packed.size());
  ASSERT_GT(size, 10u);
  for (size_t cut = 0; cut < size; ++cut)
    EXPECT_FALSE(std::make_unique<ChunkWindow>()->unpack(packed.data(), cut, back.data()));
  for (int i = 0; i < 2'000; ++i) {
    Bytes changed(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size));
    changed[random() % size] = static_cast<uint8_t>(random());
    std::make_unique<ChunkWindow>()->unpack(changed.data(), size, back.data());
  }
}

TEST(Numbers, AreReadAsTheyWereWritten) {
  for (const int64_t value :
       {int64_t{0}, int64_t{-1}, int64_t{63}, int64_t{64}, INT64_MAX, INT64_MIN}) {
    uint8_t bytes[kMostNumberBytes];
    const uint8_t* const end = put_number(bytes, zigzag(value));
    NumberReader in{bytes, end};
    EXPECT_EQ(unzigzag(in.number()), value);
    EXPECT_FALSE(in.failed);
    EXPECT_EQ(in.number(), 0u);
    EXPECT_TRUE(in.failed);
  }
}

}  // namespace
}  // namespace fgmpi::rewind
