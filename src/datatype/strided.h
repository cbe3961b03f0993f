// Copies of rows of bytes at equal distances, which all copies of datatypes consist of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fgmpi::datatype {
namespace detail {

/// Copies kPart to 2 * kPart bytes by two moves, which may overlap.
template <size_t kPart>
inline void copy_ends(char* to, const char* from, size_t bytes) {
  struct Part {
    char bytes[kPart];
  };
  Part low, high;
  std::memcpy(&low, from, kPart);
  std::memcpy(&high, from + bytes - kPart, kPart);
  std::memcpy(to, &low, kPart);
  std::memcpy(to + bytes - kPart, &high, kPart);
}

}  // namespace detail

/// Copies a row. Short ones take a few moves in line.
inline void copy_row(char* to, const char* from, int64_t bytes) {
  const auto n = static_cast<size_t>(bytes);
  if (n >= 8 && n <= 32) {
    if (n >= 16) {
      detail::copy_ends<16>(to, from, n);
    } else {
      detail::copy_ends<8>(to, from, n);
    }
  } else if (n >= 4 && n < 8) {
    detail::copy_ends<4>(to, from, n);
  } else {
    std::memcpy(to, from, n);
  }
}

/// Copies `count` rows of `bytes` bytes each, `to_stride` and `from_stride` bytes from one to the
/// next. Rows of the source may overlap each other; those of the destination overlap neither each
/// other nor the source.
void copy_rows(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t bytes,
               int64_t count);

}  // namespace fgmpi::datatype
