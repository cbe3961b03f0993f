// Regular rank maps: groups that a handful of numbers describe, and the arithmetic to evaluate
// them.
//
//   select(i) = offset + d0*stride0 + d1*stride1 + ...     the d are the digits of i in the mixed
//   i         = d0 + count0*(d1 + count1*(d2 + ...))       radix count0, count1, ...; dk < countk
//
//   levels  name            example
//   1       direct          offset 0, stride 1                      0 1 2 3 ...
//   1       offset          stride 1                                7 8 9 ...
//   1       stride          any other stride, negative too          9 7 5 3 ...
//   2       blockstride     count0 ranks each stride1               0 1 2 10 11 12 20 21 22
//   2..6    md-blockstride  sub-grids of grids; inner stride not 1
//
// When it wins: always, where it fits. Costs: 12 to 24 bytes for direct to blockstride, 128 for
// md-blockstride, whatever the size; select is one multiply-add, a multiply-high more per level
// above the first; rank is a division per level.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace fgmpi::groupmap {

/// Divides by a number that the constructor receives: a quotient of 32-bit unsigned numbers costs
/// one 64x64-bit multiplication.
class FastDivisor {
 public:
  FastDivisor() = default;
  /// REQUIRES: divisor >= 1.
  explicit FastDivisor(uint32_t divisor) : magic_(divisor > 1 ? UINT64_MAX / divisor + 1 : 0) {}
  uint32_t divide(uint32_t n) const {
    // A divisor of 1 would need a magic of 2^64: it is stored as 0.
    if (magic_ == 0) return n;
    return static_cast<uint32_t>((static_cast<unsigned __int128>(magic_) * n) >> 64);
  }

 private:
  uint64_t magic_ = 0;
};

enum class Shape : uint8_t { kDirect, kOffset, kStride, kBlockStride, kMdBlockStride, kStored };

/// "direct", "offset", "stride", "blockstride", "md-blockstride" or "stored".
const char* shape_name(Shape shape);

/// The description of a regular map, levels from the innermost out.
struct Regular {
  static constexpr int kMaxLevels = 6;
  struct Level {
    uint32_t count = 1;
    int32_t stride = 1;
    bool operator==(const Level&) const = default;
  };
  int32_t offset = 0;
  int32_t levels = 1;
  Level level[kMaxLevels];

  static Regular direct(int32_t size) { return stride(size, 0, 1); }
  static Regular stride(int32_t size, int32_t offset, int32_t stride);
  static Regular blockstride(int32_t size, int32_t offset, int32_t block, int32_t stride);

  int64_t size() const;
  Shape shape() const;
  /// Merges levels that form one, drops levels of one element; the result is the same map in its
  /// shortest form.
  void normalize();
  /// True where this is a map: 1..6 levels, counts >= 1 (only the innermost may be 0: the empty
  /// group), 0 <= every rank < 2^31, no rank twice, size < 2^31.
  bool validate(std::string* reason) const;
  /// The slow form of select, for checks. REQUIRES: 0 <= i < size().
  int32_t at(int64_t i) const;
  /// The map with these ranks in ascending order.
  Regular ascending() const;
  bool operator==(const Regular& other) const;
};

/// A stretch of one stride: select(index + k) = value + k * stride, up to the index of the next
/// piece.
struct Piece {
  int32_t index;
  int32_t value;
  int32_t stride;
};

/// Finds the regular form of `ranks` in one pass; returns false when there is none.
bool detect_regular(std::span<const int32_t> ranks, Regular* out);

/// A regular map of any number of levels, prepared for evaluation.
class RegularEval {
 public:
  explicit RegularEval(const Regular& shape);
  int32_t select(int32_t i) const {
    uint32_t rest = static_cast<uint32_t>(i);
    int32_t rank = shape_.offset;
    int32_t last = shape_.levels - 1;
    for (int32_t k = 0; k < last; ++k) {
      uint32_t next = divisor_[k].divide(rest);
      rank += static_cast<int32_t>(rest - next * shape_.level[k].count) * shape_.level[k].stride;
      rest = next;
    }
    return rank + static_cast<int32_t>(rest) * shape_.level[last].stride;
  }
  int32_t rank(int32_t world_rank) const;
  void select_range(int32_t first, int32_t count, int32_t* out) const;
  const Regular& shape() const { return shape_; }

 private:
  Regular shape_;
  FastDivisor divisor_[Regular::kMaxLevels - 1];
  // The levels by falling absolute stride, for rank().
  uint8_t order_[Regular::kMaxLevels];
};

}  // namespace fgmpi::groupmap
