// The Elias-Fano sequence: layout, lookups and wire form.

#include "groupmap/elias_fano.h"

#include <algorithm>
#include <cmath>

namespace fgmpi::groupmap {

int EliasFano::best_low_bits(uint64_t n, uint64_t largest) {
  // The total is n*L + n + largest/2^L bits. All values of L are tried.
  int best = 0;
  uint64_t least = ~uint64_t{0};
  for (int bits = 0; bits < 32; ++bits) {
    uint64_t total = n * bits + n + (largest >> bits);
    if (total < least) least = total, best = bits;
  }
  return best;
}

double EliasFano::expected_bytes(double n, double universe, Sampling sampling) {
  if (n < 1) return 0;
  int low = best_low_bits(static_cast<uint64_t>(n), static_cast<uint64_t>(universe));
  double zeros = universe / std::ldexp(1.0, low) + 1;
  double samples = n / (1 << sampling.ones) + zeros / (1 << sampling.zeros) + 2;
  return (n * low + n + zeros) / 8 + 40 + samples * bit_width(static_cast<uint64_t>(n + zeros)) / 8;
}

void EliasFano::lay_out(uint32_t size, uint32_t largest, Sampling sampling, int low_bits) {
  size_ = size;
  largest_ = largest;
  sampling_ = sampling;
  low_bits_ = static_cast<uint8_t>(low_bits);
  low_words_ = static_cast<uint32_t>(words_for(uint64_t{size} * low_bits));
}

EliasFano::EliasFano(std::span<const uint32_t> values, Sampling sampling) {
  if (values.empty()) return;
  uint32_t largest = values.back();
  lay_out(static_cast<uint32_t>(values.size()), largest, sampling,
          best_low_bits(values.size(), largest));
  words_.assign(low_words_ + words_for(size_ + zero_count()) + 1, 0);
  uint64_t* high = words_.data() + low_words_;
  for (uint32_t i = 0; i < size_; ++i) {
    put_bits(words_.data(), uint64_t{i} * low_bits_, low_bits_, values[i] & low_mask(low_bits_));
    set_bit(high, (uint64_t{values[i]} >> low_bits_) + i);
  }
  sample();
}

void EliasFano::sample() {
  const uint64_t* high = high_words();
  uint64_t bits = size_ + zero_count();
  uint32_t one_step = 1u << sampling_.ones, zero_step = 1u << sampling_.zeros;
  std::vector<uint32_t> at_one, at_zero;
  at_one.reserve(size_ / one_step + 1);
  at_zero.reserve(zero_count() / zero_step + 1);
  uint64_t ones = 0, zeros = 0, next_one = 0, next_zero = 0;
  for (uint64_t at = 0; at < bits; at += 64) {
    uint64_t word = high[at / 64];
    uint64_t here = static_cast<uint64_t>(popcount(word));
    uint64_t nulls = std::min<uint64_t>(64, bits - at) - here;
    for (; next_one < ones + here; next_one += one_step)
      at_one.push_back(static_cast<uint32_t>(at) +
                       select_in_word(word, static_cast<int>(next_one - ones)));
    for (; next_zero < zeros + nulls; next_zero += zero_step)
      at_zero.push_back(static_cast<uint32_t>(at) +
                        select_in_word(~word, static_cast<int>(next_zero - zeros)));
    ones += here;
    zeros += nulls;
  }
  ones_ = PackedVector::of(std::span<const uint32_t>(at_one));
  zeros_ = PackedVector::of(std::span<const uint32_t>(at_zero));
}

uint32_t EliasFano::count_below(uint64_t value) const {
  if (size_ == 0 || value == 0) return 0;
  if (value > largest_) return size_;
  uint64_t part = value >> low_bits_;
  // Numbers with this high part stand between the (part-1)-th and the part-th zero.
  uint64_t at = part ? position_of_zero(static_cast<uint32_t>(part - 1)) + 1 : 0;
  uint32_t i = static_cast<uint32_t>(at - part);
  uint64_t rest = value & low_mask(low_bits_);
  const uint64_t* high = high_words();
  if (rest == 0) return i;
  for (uint32_t stop = i + 8; i < stop; ++i, ++at)
    if (i == size_ || !get_bit(high, at) || low(i) >= rest) return i;
  // Many numbers share the high part: the rest of them is searched by halves.
  uint32_t end = static_cast<uint32_t>(position_of_zero(static_cast<uint32_t>(part)) - part);
  while (i < end) {
    uint32_t middle = i + (end - i) / 2;
    if (low(middle) < rest)
      i = middle + 1;
    else
      end = middle;
  }
  return i;
}

void EliasFano::range(uint32_t first, uint32_t count, uint32_t* out) const {
  if (count == 0) return;
  const uint64_t* high = high_words();
  uint64_t at = position_of_one(first);
  uint64_t word = high[at / 64] & (~uint64_t{0} << (at % 64));
  uint64_t base = at / 64 * 64;
  for (uint32_t k = 0; k < count; ++k) {
    while (word == 0) {
      base += 64;
      word = high[base / 64];
    }
    uint64_t position = base + static_cast<uint64_t>(std::countr_zero(word));
    word &= word - 1;
    uint32_t i = first + k;
    out[k] = static_cast<uint32_t>((position - i) << low_bits_ | low(i));
  }
}

void EliasFano::write(ByteWriter& out) const {
  out.u8(sampling_.ones);
  out.u8(sampling_.zeros);
  out.u8(low_bits_);
  out.varint(largest_);
  out.words(std::span(words_).first(words_.empty() ? 0 : words_.size() - 1));
}

EliasFano EliasFano::read(ByteReader& in, uint32_t count) {
  EliasFano sequence;
  Sampling sampling;
  sampling.ones = static_cast<uint8_t>(in.varint(16));
  sampling.zeros = static_cast<uint8_t>(in.varint(16));
  int low_bits = static_cast<int>(in.varint(31));
  uint32_t largest = static_cast<uint32_t>(in.varint(UINT32_MAX));
  if (in.failed()) return {};
  sequence.lay_out(count, largest, sampling, low_bits);
  if (count == 0) return sequence;
  uint64_t bits = count + sequence.zero_count();
  if (bits > UINT32_MAX) in.fail();
  if (in.failed() || !in.words(sequence.low_words_ + words_for(bits), &sequence.words_)) return {};
  sequence.words_.push_back(0);
  sequence.words_.shrink_to_fit();
  // The high bits must have as many ones as there are numbers, end with a zero and be 0 past that.
  const uint64_t* high = sequence.high_words();
  uint64_t ones = 0;
  for (size_t k = 0; k < words_for(bits); ++k) ones += static_cast<uint64_t>(popcount(high[k]));
  bool tail = bits % 64 == 0 || high[bits / 64] >> (bits % 64) == 0;
  if (ones != count || !tail || get_bit(high, bits - 1)) {
    in.fail();
    return {};
  }
  sequence.sample();
  uint32_t before = 0;
  bool rising = true;
  std::vector<uint32_t> chunk(1024);
  for (uint32_t i = 0; i < count && rising; i += 1024) {
    uint32_t here = std::min(1024u, count - i);
    sequence.range(i, here, chunk.data());
    for (uint32_t k = 0; k < here; ++k) {
      rising = rising && chunk[k] >= before;
      before = chunk[k];
    }
  }
  if (!rising || before != largest) in.fail();
  return in.failed() ? EliasFano() : std::move(sequence);
}

}  // namespace fgmpi::groupmap
