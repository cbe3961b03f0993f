// Bits of a word: count them and find the k-th one, by the processor's instructions where it has
// them (base/processor.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/processor.h"

namespace fgmpi::groupmap {

inline int popcount(uint64_t word) {
  return processor::has_popcount() ? processor::popcount(word) : std::popcount(word);
}

/// The low bits of `bits`, spread over the one-bits of `mask` from the lowest up.
inline uint64_t deposit_bits(uint64_t bits, uint64_t mask) {
  if (processor::has_deposit()) return processor::deposit_bits(bits, mask);
  uint64_t spread = 0;
  for (; mask; mask &= mask - 1, bits >>= 1)
    if (bits & 1) spread |= mask & -mask;
  return spread;
}

/// The position (0..63) of the one-bit that has `k` one-bits below it. REQUIRES: k <
/// popcount(word).
inline int select_in_word(uint64_t word, int k) {
  if (processor::has_deposit())
    return std::countr_zero(processor::deposit_bits(uint64_t{1} << k, word));
  int base = 0;
  for (int width = 32; width > 0; width /= 2) {
    int low = popcount(word & ((uint64_t{1} << width) - 1));
    if (k >= low) {
      k -= low;
      base += width;
      word >>= width;
    }
  }
  return base;
}

/// The inverse of deposit_bits(): the bits of `word` at the one-bits of `mask`, side by side.
inline uint64_t extract_bits(uint64_t word, uint64_t mask) {
  uint64_t bits = 0;
  for (uint64_t bit = 1; mask; mask &= mask - 1, bit <<= 1)
    if (word & mask & -mask) bits |= bit;
  return bits;
}

/// Bits needed to write 0..value; 0 for 0.
inline int bit_width(uint64_t value) { return std::bit_width(value); }

inline uint64_t low_mask(int bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

inline size_t words_for(uint64_t bits) { return static_cast<size_t>((bits + 63) / 64); }

/// The `width` bits (0..64) from bit `at` on. REQUIRES: they lie within `words`.
inline uint64_t get_bits(const uint64_t* words, uint64_t at, int width) {
  if (width == 0) return 0;
  uint64_t word = words[at / 64] >> (at % 64);
  if (at % 64 + width > 64) word |= words[at / 64 + 1] << (64 - at % 64);
  return word & low_mask(width);
}

/// Ors `value` into the `width` bits from bit `at` on. REQUIRES: they are zero; value < 2^width.
inline void put_bits(uint64_t* words, uint64_t at, int width, uint64_t value) {
  if (width == 0) return;
  words[at / 64] |= value << (at % 64);
  if (at % 64 + width > 64) words[at / 64 + 1] |= value >> (64 - at % 64);
}

inline bool get_bit(const uint64_t* words, uint64_t at) { return words[at / 64] >> (at % 64) & 1; }
inline void set_bit(uint64_t* words, uint64_t at) { words[at / 64] |= uint64_t{1} << (at % 64); }

}  // namespace fgmpi::groupmap
