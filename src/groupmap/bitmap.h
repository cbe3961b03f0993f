// The bitmap encoding's class, which set algebra works on word by word; described in bitmap.cc.
#pragma once

#include "groupmap/groupmap.h"
#include "groupmap/rank_bits.h"

namespace fgmpi::groupmap {

class BitmapMap final : public GroupMap {
 public:
  /// Bit k stands for rank least + k*step.
  BitmapMap(std::vector<uint64_t> words, uint64_t bits, int32_t least, uint32_t step);
  int32_t select(int32_t i) const override;
  int32_t rank(int32_t w) const override;
  void select_range(int32_t first, int32_t count, int32_t* out) const override;
  size_t bytes() const override;
  bool validate(std::string* reason) const override;
  void write(ByteWriter& out) const override;
  /// False where the bits of the two maps do not align, or lie far apart.
  bool combine(const GroupMap& other, SetOperation operation, MapRef* out) const override;

 private:
  BitmapMap(RankBits bits, int32_t least, uint32_t step);
  uint64_t bits_from(int32_t least) const;
  std::vector<uint64_t> spread(int32_t least, uint64_t bits) const;

  RankBits bits_;
  FastDivisor divisor_;
  int32_t least_;
  uint32_t step_;
};

}  // namespace fgmpi::groupmap
