// Cuts: 0..size-1 cut into parts that follow each other.
//
//   equal parts      stored: their length (the last part may be shorter)
//   other parts      stored: the first element of each part but the first, by Elias-Fano
//
// Costs: nothing, or 2 + log2(size/parts) bits a part; part_of() is a multiplication, or an
// Elias-Fano rank.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "groupmap/elias_fano.h"
#include "groupmap/regular.h"

namespace fgmpi::groupmap {

class Cuts {
 public:
  /// A sample every 16 parts: finding a part must be fast, and parts are few.
  static constexpr EliasFano::Sampling kSampling = {4, 7};

  Cuts() = default;
  /// REQUIRES: firsts rise from 0; the last is below size.
  Cuts(std::span<const uint32_t> firsts, uint32_t size)
      : parts_(static_cast<uint32_t>(firsts.size())),
        size_(size),
        length_(common_length(firsts, size)) {
    divisor_ = FastDivisor(std::max(1u, length_));
    if (!length_ && parts_) firsts_ = EliasFano(firsts.subspan(1), kSampling);
  }

  uint32_t parts() const { return parts_; }
  bool equal() const { return length_ != 0; }
  uint32_t part_of(uint32_t i) const {
    return length_ ? divisor_.divide(i) : firsts_.count_below(uint64_t{i} + 1);
  }
  uint32_t first(uint32_t part) const {
    if (length_) return part * length_;
    return part ? firsts_[part - 1] : 0;
  }
  uint32_t end(uint32_t part) const { return part + 1 < parts_ ? first(part + 1) : size_; }
  size_t heap_bytes() const { return firsts_.heap_bytes(); }

  void write(ByteWriter& out) const {
    out.varint(parts_);
    out.varint(length_);
    if (!length_ && parts_) firsts_.write(out);
  }
  /// Fails `in` unless every part of 0..size-1 has an element.
  static Cuts read(ByteReader& in, uint32_t size) {
    Cuts cuts;
    cuts.size_ = size;
    cuts.parts_ = static_cast<uint32_t>(in.varint(size));
    cuts.length_ = static_cast<uint32_t>(in.varint(size));
    cuts.divisor_ = FastDivisor(std::max(1u, cuts.length_));
    if (cuts.length_) {
      if ((uint64_t{size} + cuts.length_ - 1) / cuts.length_ != cuts.parts_) in.fail();
      return cuts;
    }
    if (cuts.parts_ == 0) {
      if (size) in.fail();
      return cuts;
    }
    cuts.firsts_ = EliasFano::read(in, cuts.parts_ - 1);
    for (uint32_t part = 0; !in.failed() && part < cuts.parts_; ++part)
      if (cuts.first(part) >= cuts.end(part)) in.fail();
    return cuts;
  }

 private:
  /// The length that all parts have (the last may be shorter), or 0.
  static uint32_t common_length(std::span<const uint32_t> firsts, uint32_t size) {
    if (firsts.empty()) return 0;
    uint32_t length = firsts.size() > 1 ? firsts[1] : size;
    for (size_t k = 0; k < firsts.size(); ++k)
      if (firsts[k] != k * length) return 0;
    return size - firsts.back() <= length ? length : 0;
  }

  uint32_t parts_ = 0;
  uint32_t size_ = 0;
  uint32_t length_ = 0;
  FastDivisor divisor_;
  EliasFano firsts_;
};

}  // namespace fgmpi::groupmap
