// Numbers of variable length in recordings: seven bits a byte, the lowest first; small negative
// ones are small, too (zigzag). Thread rule: none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::rewind {

inline constexpr size_t kMostNumberBytes = 10;

/// Returns the byte behind the number. REQUIRES: room for kMostNumberBytes.
inline uint8_t* put_number(uint8_t* at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<uint8_t>(value | 0x80);
  *at++ = static_cast<uint8_t>(value);
  return at;
}

constexpr uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

/// Reads numbers. After one that does not fit all are 0, and `failed` is true.
struct NumberReader {
  const uint8_t* at;
  const uint8_t* end;
  bool failed = false;

  size_t left() const { return static_cast<size_t>(end - at); }
  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at == end) break;
      const uint8_t byte = *at++;
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    failed = true;
    at = end;
    return 0;
  }
};

}  // namespace fgmpi::rewind
