// RankBits: a fixed string of bits with constant-time rank and near-constant select of ones and
// zeros.
//
//   words   | 512 bits | 512 bits | ...
//   counts  | ones before | ones before | ...       32 bits a block: 6% more
//   hints   block of every 4096-th one (and zero, if asked for): where select begins to search
//
// Costs: rank is a load of the count and at most 8 popcounts; select is a search over the few
// blocks between two hints, then as rank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "groupmap/bits.h"

namespace fgmpi::groupmap {

class RankBits {
 public:
  RankBits() = default;
  /// REQUIRES: words.size() == words_for(bits), bits past the end are 0, bits < 2^32.
  RankBits(std::vector<uint64_t> words, uint64_t bits, bool select_zeros);

  uint64_t size() const { return bits_; }
  uint32_t ones() const { return ones_; }
  bool operator[](uint64_t at) const { return get_bit(words_.data(), at); }
  std::span<const uint64_t> words() const { return words_; }

  /// Number of ones before `at`. REQUIRES: at <= size().
  uint32_t rank1(uint64_t at) const {
    uint32_t count = counts_[at / kBlockBits];
    const uint64_t* word = words_.data() + at / kBlockBits * kBlockWords;
    for (const uint64_t* end = words_.data() + at / 64; word < end; ++word)
      count += static_cast<uint32_t>(popcount(*word));
    if (at % 64)
      count += static_cast<uint32_t>(popcount(*word & low_mask(static_cast<int>(at % 64))));
    return count;
  }
  uint64_t rank0(uint64_t at) const { return at - rank1(at); }
  /// Position of the k-th one (zero). REQUIRES: there are that many; for select0: the constructor
  /// got select_zeros.
  uint64_t select1(uint32_t k) const { return find<false>(k, one_hints_); }
  uint64_t select0(uint32_t k) const { return find<true>(k, zero_hints_); }

  size_t heap_bytes() const {
    return words_.capacity() * 8 +
           4 * (counts_.capacity() + one_hints_.capacity() + zero_hints_.capacity());
  }
  /// Expected heap_bytes() of `bits` bits.
  static double expected_bytes(double bits, bool select_zeros) {
    return bits / 8 + 4 * (bits / kBlockBits + bits * (select_zeros ? 2 : 1) / kHintStep + 4);
  }

 private:
  static constexpr uint64_t kBlockBits = 512, kBlockWords = kBlockBits / 64, kHintStep = 4096;

  /// Number of ones or zeros before block b.
  template <bool kZeros>
  uint32_t before(uint32_t b) const {
    return kZeros ? static_cast<uint32_t>(b * kBlockBits) - counts_[b] : counts_[b];
  }
  template <bool kZeros>
  uint64_t find(uint32_t k, const std::vector<uint32_t>& hints) const {
    uint32_t low = hints[k / kHintStep], high = hints[k / kHintStep + 1];
    // Finds the last block with at most k before it.
    while (low < high) {
      uint32_t middle = low + (high - low + 1) / 2;
      if (before<kZeros>(middle) <= k)
        low = middle;
      else
        high = middle - 1;
    }
    k -= before<kZeros>(low);
    for (uint64_t at = low * kBlockWords;; ++at) {
      uint64_t word = kZeros ? ~words_[at] : words_[at];
      uint32_t here = static_cast<uint32_t>(popcount(word));
      if (k < here)
        return at * 64 + static_cast<uint64_t>(select_in_word(word, static_cast<int>(k)));
      k -= here;
    }
  }
  std::vector<uint32_t> hints(uint64_t total, bool zeros) const;

  std::vector<uint64_t> words_;
  std::vector<uint32_t> counts_;
  std::vector<uint32_t> one_hints_;
  std::vector<uint32_t> zero_hints_;
  uint64_t bits_ = 0;
  uint32_t ones_ = 0;
};

}  // namespace fgmpi::groupmap
