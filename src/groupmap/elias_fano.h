// EliasFano: a rising (not necessarily strictly) sequence of n numbers in few bits, with fast
// access.
//
//   x(i) = high(i) << L | low(i)
//
//   low    | low(0) | low(1) | ...            L bits each
//   high   0 1 1 0 0 1 ...                    for each i a 1 at bit high(i) + i; a 0 ends each
//                                             value of high
//   ones   position of every 2^a-th 1         32 bits each: where the search for the i-th 1 begins
//   zeros  position of every 2^b-th 0         32 bits each: where count_below() begins to search
//
// When it wins: sparse and random ordered sets: 2 + log2(u/n) bits a number for u the largest,
// within half a bit of the least possible; the samples add 32/2^a + 32/2^b * zeros/n. Costs:
// operator[] finds a 1 within a few words of a sample and reads L bits; count_below() finds a 0 and
// searches the numbers that share its high part. Clustered numbers can put many words between two
// samples (at most 2n/64).
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "groupmap/bits.h"
#include "groupmap/codec.h"
#include "groupmap/packed_vector.h"

namespace fgmpi::groupmap {

class EliasFano {
 public:
  struct Sampling {
    uint8_t ones = 5;   // log2 of the 1s per sample
    uint8_t zeros = 8;  // log2 of the 0s per sample
  };
  EliasFano() = default;
  /// REQUIRES: `values` never falls.
  explicit EliasFano(std::span<const uint32_t> values, Sampling sampling);
  explicit EliasFano(std::span<const uint32_t> values) : EliasFano(values, Sampling()) {}

  uint32_t size() const { return size_; }
  uint32_t operator[](uint32_t i) const {
    uint64_t high = position_of_one(i) - i;
    return static_cast<uint32_t>(high << low_bits_ | low(i));
  }
  /// How many numbers are less than `value`, which may be any number.
  uint32_t count_below(uint64_t value) const;
  /// Sets out[k] = (*this)[first + k].
  void range(uint32_t first, uint32_t count, uint32_t* out) const;
  size_t heap_bytes() const {
    return words_.capacity() * sizeof(uint64_t) + ones_.heap_bytes() + zeros_.heap_bytes();
  }
  /// Expected heap_bytes() of n numbers below `universe`.
  static double expected_bytes(double n, double universe, Sampling sampling);
  static double expected_bytes(double n, double universe) {
    return expected_bytes(n, universe, Sampling());
  }

  /// Writes sampling, L, largest, low and high words. The reader computes the samples again.
  void write(ByteWriter& out) const;
  /// Reads `count` numbers; fails `in` unless they are valid.
  static EliasFano read(ByteReader& in, uint32_t count);

 private:
  static int best_low_bits(uint64_t n, uint64_t largest);
  /// Needs no branch for numbers that straddle words: the spare word at the end makes 8 bytes
  /// readable from any byte on.
  uint64_t low(uint32_t i) const {
    uint64_t at = uint64_t{i} * low_bits_, word;
    std::memcpy(&word, reinterpret_cast<const uint8_t*>(words_.data()) + at / 8, 8);
    return word >> (at % 8) & low_mask(low_bits_);
  }
  const uint64_t* high_words() const { return words_.data() + low_words_; }
  uint64_t position_of_one(uint32_t i) const {
    uint64_t from = ones_[i >> sampling_.ones];
    int k = static_cast<int>(i & ((1u << sampling_.ones) - 1));
    // Reads the 57 to 64 bits from the sample on, which mostly contain the bit. (words_ ends with a
    // spare word.)
    uint64_t window;
    std::memcpy(&window, reinterpret_cast<const uint8_t*>(high_words()) + from / 8, 8);
    window >>= from % 8;
    if (__builtin_expect(popcount(window) > k, 1))
      return from + static_cast<uint64_t>(select_in_word(window, k));
    return find<false>(from, static_cast<uint32_t>(k));
  }
  uint64_t position_of_zero(uint32_t k) const {
    return find<true>(zeros_[k >> sampling_.zeros], k & ((1u << sampling_.zeros) - 1));
  }
  /// The position of the k-th bit of this kind at or after `from`.
  template <bool kZeros>
  uint64_t find(uint64_t from, uint32_t k) const {
    const uint64_t* high = high_words();
    size_t at = from / 64;
    uint64_t word = (kZeros ? ~high[at] : high[at]) & (~uint64_t{0} << (from % 64));
    for (;;) {
      uint32_t here = static_cast<uint32_t>(popcount(word));
      if (k < here) return at * 64 + select_in_word(word, static_cast<int>(k));
      k -= here;
      ++at;
      word = kZeros ? ~high[at] : high[at];
    }
  }
  void lay_out(uint32_t size, uint32_t largest, Sampling sampling, int low_bits);
  void sample();
  uint64_t zero_count() const { return (uint64_t{largest_} >> low_bits_) + 1; }

  std::vector<uint64_t> words_;  // low, then high, then a spare word
  PackedVector ones_;            // samples
  PackedVector zeros_;
  uint32_t size_ = 0;
  uint32_t largest_ = 0;
  uint32_t low_words_ = 0;
  uint8_t low_bits_ = 0;
  Sampling sampling_;
};

}  // namespace fgmpi::groupmap
