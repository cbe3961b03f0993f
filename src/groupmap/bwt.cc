// bwt: a group's ranks in blocks of 1,000, each compressed by bzip2 (Burrows-Wheeler and Huffman
// coding).
//
//   at       | where block 0 begins | block 1 | ... | end |      packed
//   blocks   | bzip2(wid(0..999)) | bzip2(wid(1000..1999)) | ...
//
// The last block holds the rest, 1 to 1,999 members. When it wins: long unordered groups with
// patterns that no other encoding recognises, which is seldom. Costs: 7 to 30 bits a member. select
// decodes a whole block (40 microseconds) unless the cache holds it: a Reader has a cache of its
// own, all other users share one. bytes() includes the 4 KB of a cache. rank decodes all blocks.
#include "groupmap/bwt.h"

#include <bzlib.h>

#include <algorithm>
#include <new>

#include "groupmap/codec.h"
#include "groupmap/packed_vector.h"

namespace fgmpi::groupmap {
namespace {

constexpr int32_t kBlock = 1000;

/// Memory for bzip2's decoder, which allocates 464 KB and touches about 30 KB of that. The memory
/// stays between calls, because mapping and clearing the pages anew takes longer than decoding a
/// block.
class Scratch {
 public:
  static void* allocate(void* self, int items, int size) {
    return static_cast<Scratch*>(self)->take(items, size);
  }
  static void release(void*, void*) {}
  void reset() { used_ = 0; }

 private:
  static constexpr size_t kBytes = 512 << 10;
  void* take(int items, int size) {
    size_t bytes = (static_cast<size_t>(items) * static_cast<size_t>(size) + 63) / 64 * 64;
    if (!memory_) memory_.reset(new (std::nothrow) uint8_t[kBytes]);
    if (!memory_ || used_ + bytes > kBytes) return nullptr;
    used_ += bytes;
    return memory_.get() + used_ - bytes;
  }
  std::unique_ptr<uint8_t[]> memory_;
  size_t used_ = 0;
};

bool decode(std::span<const uint8_t> from, std::span<int32_t> to) {
  static Scratch scratch;
  scratch.reset();
  bz_stream stream{};
  stream.bzalloc = Scratch::allocate;
  stream.bzfree = Scratch::release;
  stream.opaque = &scratch;
  if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) return false;
  stream.next_in = reinterpret_cast<char*>(const_cast<uint8_t*>(from.data()));
  stream.avail_in = static_cast<unsigned>(from.size());
  stream.next_out = reinterpret_cast<char*>(to.data());
  stream.avail_out = static_cast<unsigned>(to.size_bytes());
  int result = BZ2_bzDecompress(&stream);
  bool whole = result == BZ_STREAM_END && stream.avail_out == 0;
  BZ2_bzDecompressEnd(&stream);
  return whole;
}

int32_t blocks_of(int32_t size) { return std::max(1, size / kBlock); }

class BwtMap final : public GroupMap {
 public:
  BwtMap(PackedVector at, std::vector<uint8_t> blocks, int32_t size, bool ordered)
      : GroupMap(Encoding::bwt, size, ordered), at_(std::move(at)), blocks_(std::move(blocks)) {}

  int32_t select(int32_t i) const override { return select_cached(i, cache_); }
  bool block_wise() const override { return true; }
  int32_t select_cached(int32_t i, BlockCache& cache) const override {
    int32_t block = std::min(i / kBlock, blocks_of(size()) - 1);
    if (cache.block != block || cache.owner != this) FGMPI_CHECK(load(block, cache));
    return cache.ranks[i - block * kBlock];
  }
  int32_t rank(int32_t w) const override {
    for (int32_t first = 0; first < size(); first += static_cast<int32_t>(cache_.ranks.size())) {
      select(first);
      auto at = std::find(cache_.ranks.begin(), cache_.ranks.end(), w);
      if (at != cache_.ranks.end()) return first + static_cast<int32_t>(at - cache_.ranks.begin());
    }
    return -1;
  }
  void select_range(int32_t first, int32_t count, int32_t* out) const override {
    while (count > 0) {
      select(first);
      int32_t at = first - cache_.block * kBlock;
      int32_t here = std::min(count, static_cast<int32_t>(cache_.ranks.size()) - at);
      out = std::copy_n(cache_.ranks.begin() + at, here, out);
      first += here;
      count -= here;
    }
  }
  size_t bytes() const override {
    // The cached block counts whether or not it is there yet.
    size_t cached = static_cast<size_t>(length_of(blocks_of(size()) - 1)) * sizeof(int32_t);
    return sizeof(*this) + at_.heap_bytes() + blocks_.capacity() + cached;
  }
  bool validate(std::string* reason) const override {
    std::vector<int32_t> all;
    for (int32_t block = 0; block < blocks_of(size()); ++block) {
      BlockCache cache;
      if (!load(block, cache)) return invalid(reason, "block %d does not decode", block);
      all.insert(all.end(), cache.ranks.begin(), cache.ranks.end());
    }
    if (std::any_of(all.begin(), all.end(), [](int32_t w) { return w < 0; }))
      return invalid(reason, "a rank is negative");
    if (ordered() != std::is_sorted(all.begin(), all.end()))
      return invalid(reason, "order not as said");
    return all_distinct(all) || invalid(reason, "a rank occurs twice");
  }
  void write(ByteWriter& out) const override {
    out.u8(ordered());
    for (uint32_t k = 1; k < at_.size(); ++k) out.varint(at_[k] - at_[k - 1]);
    out.bytes(blocks_.data(), blocks_.size());
  }

 private:
  int32_t length_of(int32_t block) const {
    return block + 1 < blocks_of(size()) ? kBlock : size() - block * kBlock;
  }
  bool load(int32_t block, BlockCache& cache) const {
    uint32_t k = static_cast<uint32_t>(block);
    cache.block = -1;
    cache.ranks.resize(static_cast<size_t>(length_of(block)));
    std::span<const uint8_t> from(blocks_.data() + at_[k], at_[k + 1] - at_[k]);
    if (!decode(from, cache.ranks)) return false;
    cache.owner = this;
    cache.block = block;
    return true;
  }

  PackedVector at_;
  std::vector<uint8_t> blocks_;
  mutable BlockCache cache_;  // shared by all users that have no Reader
};

std::optional<Cost> estimate_bwt(const Stats& stats) {
  if (stats.size == 0) return std::nullopt;
  // The paper's estimate is log2(N) bits a member. Measured: 7 to 9 bits for long ascending
  // stretches, more for short ones, and next to nothing saved without any, plus 50 bytes a block.
  double bits = 27;
  if (stats.pieces_complete)
    bits = std::min(bits, 9 + 24.0 * static_cast<double>(stats.pieces.size()) / stats.size);
  double bytes = sizeof(MapRef) + sizeof(BwtMap) + 4.0 * std::min(stats.size, 2 * kBlock) +
                 stats.size * bits / 8 + 50;
  return Cost{bytes, stats.size < 2 * kBlock ? 3.0 : 40000.0};
}

const GroupMap* build_bwt(std::span<const int32_t> ranks, const Stats& stats, std::string* why) {
  if (stats.size == 0) {
    invalid(why, "it is empty");
    return nullptr;
  }
  std::vector<uint8_t> blocks;
  std::vector<uint64_t> at = {0};
  for (int32_t block = 0; block < blocks_of(stats.size); ++block) {
    bool last = block + 1 == blocks_of(stats.size);
    std::span<const int32_t> from = ranks.subspan(static_cast<size_t>(block) * kBlock);
    if (!last) from = from.first(kBlock);
    unsigned room = static_cast<unsigned>(from.size_bytes() * 102 / 100 + 700);
    blocks.resize(at.back() + room);
    int result =
        BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(blocks.data() + at.back()), &room,
                                 reinterpret_cast<char*>(const_cast<int32_t*>(from.data())),
                                 static_cast<unsigned>(from.size_bytes()), 1, 0, 0);
    if (result != BZ_OK) {
      invalid(why, "bzip2 failed (%d)", result);
      return nullptr;
    }
    at.push_back(at.back() + room);
    blocks.resize(at.back());
  }
  blocks.shrink_to_fit();
  return new BwtMap(PackedVector::of(std::span<const uint64_t>(at)), std::move(blocks), stats.size,
                    stats.ordered);
}

const GroupMap* read_bwt(ByteReader& in, int32_t size, int) {
  if (size == 0) return nullptr;
  bool ordered = in.varint(1) != 0;
  std::vector<uint64_t> at = {0};
  for (int32_t block = 0; block < blocks_of(size) && !in.failed(); ++block)
    at.push_back(at.back() + in.varint(16000));
  std::span<const uint8_t> bytes = in.bytes(at.back());
  if (in.failed()) return nullptr;
  return new BwtMap(PackedVector::of(std::span<const uint64_t>(at)), {bytes.begin(), bytes.end()},
                    size, ordered);
}

}  // namespace

extern const EncodingInfo encoding_bwt = {Encoding::bwt, "bwt",     estimate_bwt,
                                          false,         build_bwt, read_bwt};

}  // namespace fgmpi::groupmap
