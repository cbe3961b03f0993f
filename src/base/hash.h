// Hashes for tables, sampled comparisons and checksums, and the generator of random numbers made of
// the same mixer. They guard against chance, not against an adversary. All processes of a job
// compute the same values.
//
// Thread rule: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace fgmpi {

/// 2^64 divided by the golden section, made odd: multiples of it lie far apart.
inline constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15u;

/// A bijection in which each bit of x changes each bit of the result half the time (the finalizer
/// of splitmix64).
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// The hash of two words, in this order.
constexpr uint64_t mix(uint64_t a, uint64_t b) { return mix(a * kGoldenRatio ^ b); }

/// The hash of bytes, eight at a time. Even its lower half, the checksum of group maps on the wire
/// (docs/wire-format.md), misses a difference only once in 2^32. Another `seed` gives another hash.
inline uint64_t hash_bytes(const void* bytes, size_t count, uint64_t seed = 0) {
  constexpr uint64_t kOdd = 0x9fb21c651e98df25u;
  uint64_t sum = count * kOdd ^ seed;
  for (size_t at = 0; at < count; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(bytes) + at, count - at < 8 ? count - at : 8);
    sum = (sum ^ word) * kOdd;
    sum ^= sum >> 32;
  }
  return sum ^ sum >> 29;
}
inline uint64_t hash_text(std::string_view text, uint64_t seed = 0) {
  return mix(hash_bytes(text.data(), text.size(), seed));
}

/// Random numbers determined by the seed (splitmix64).
class RandomSequence {
 public:
  constexpr explicit RandomSequence(uint64_t seed = 0) : state_(seed) {}
  constexpr uint64_t next() { return mix(state_ += kGoldenRatio); }

 private:
  uint64_t state_;
};

}  // namespace fgmpi
