// PackedVector: n numbers of `width` bits each (0..57), side by side.
//
//   | v0 | v1 | v2 | ...          width bits each, little-endian, from bit 0 on
//
// 8 spare bytes at the end let one unaligned 8-byte load, a shift and a mask fetch any number.
// Costs: 16 bytes + n*width/8 + 8. A width of 0 stores nothing and reads 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "groupmap/bits.h"
#include "groupmap/codec.h"

namespace fgmpi::groupmap {

class PackedVector {
 public:
  static constexpr int kMaxWidth = 57;

  PackedVector() = default;
  PackedVector(uint32_t count, int width) : count_(count), width_(static_cast<uint8_t>(width)) {
    if (width && count) data_ = std::make_unique<uint8_t[]>(allocated());
  }
  /// Makes a vector of at(0), at(1), ..., each below 2^width.
  template <class At>
  static PackedVector make(uint32_t count, int width, At at) {
    PackedVector packed(count, width);
    if (!packed.data_) return packed;
    uint8_t* to = packed.data_.get();
    uint64_t word = 0;
    int used = 0;
    for (uint32_t i = 0; i < count; ++i) {
      uint64_t value = static_cast<uint64_t>(at(i));
      word |= value << used;
      used += width;
      if (used < 64) continue;
      std::memcpy(to, &word, 8);
      to += 8;
      used -= 64;
      word = used ? value >> (width - used) : 0;
    }
    std::memcpy(to, &word, static_cast<size_t>(used + 7) / 8);
    return packed;
  }
  /// Makes a vector of the smallest width that holds the largest of `values`.
  template <class T>
  static PackedVector of(std::span<const T> values) {
    T most = 0;
    for (T value : values) most = std::max(most, value);
    return make(static_cast<uint32_t>(values.size()), bit_width(static_cast<uint64_t>(most)),
                [&](uint32_t i) { return values[i]; });
  }

  uint32_t size() const { return count_; }
  int width() const { return width_; }
  uint64_t operator[](uint32_t i) const {
    if (!data_) return 0;
    uint64_t bit = uint64_t{i} * width_;
    uint64_t word;
    std::memcpy(&word, data_.get() + bit / 8, 8);
    return word >> (bit % 8) & low_mask(width_);
  }
  /// The first element not below `value`, size() when there is none. REQUIRES: the elements never
  /// fall.
  uint32_t lower_bound(uint64_t value) const {
    uint32_t low = 0, high = count_;
    while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      if ((*this)[middle] < value)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
  /// REQUIRES: element i is still 0; value < 2^width.
  void set(uint32_t i, uint64_t value) {
    if (!data_) return;
    uint64_t bit = uint64_t{i} * width_;
    uint64_t word;
    std::memcpy(&word, data_.get() + bit / 8, 8);
    word |= value << (bit % 8);
    std::memcpy(data_.get() + bit / 8, &word, 8);
  }
  /// Heap memory in bytes.
  size_t heap_bytes() const { return data_ ? allocated() : 0; }

  void write(ByteWriter& out) const {
    out.u8(width_);
    if (data_) out.bytes(data_.get(), packed_bytes());
  }
  /// Reads a vector of `count` numbers; fails `in` when there are not that many.
  static PackedVector read(ByteReader& in, uint32_t count) {
    int width = static_cast<int>(in.varint(kMaxWidth));
    size_t size = static_cast<size_t>((uint64_t{count} * width + 7) / 8);
    std::span<const uint8_t> bytes = in.bytes(size);
    if (in.failed() || (width == 0 && count > kMaxImplied)) {
      in.fail();
      return {};
    }
    PackedVector packed(count, width);
    if (packed.data_) std::memcpy(packed.data_.get(), bytes.data(), size);
    return packed;
  }

 private:
  // A width of 0 needs no bytes on the wire; a bound prevents a forged count from costing time.
  static constexpr uint32_t kMaxImplied = 1u << 24;
  size_t packed_bytes() const { return static_cast<size_t>((uint64_t{count_} * width_ + 7) / 8); }
  size_t allocated() const { return packed_bytes() + 8; }

  std::unique_ptr<uint8_t[]> data_;
  uint32_t count_ = 0;
  uint8_t width_ = 0;
};

}  // namespace fgmpi::groupmap
