// The Roaring encoding's class, which set algebra works on; described in roaring.cc.
#pragma once

#include <roaring/roaring.h>

#include "groupmap/groupmap.h"

namespace fgmpi::groupmap {

class RoaringMap final : public GroupMap {
 public:
  /// Owns the set from now on. REQUIRES: fewer than 2^31 members, all below 2^31.
  explicit RoaringMap(roaring_bitmap_t* set);
  ~RoaringMap() override;
  int32_t select(int32_t i) const override;
  int32_t rank(int32_t w) const override;
  void select_range(int32_t first, int32_t count, int32_t* out) const override;
  size_t bytes() const override;
  bool validate(std::string* reason) const override;
  void write(ByteWriter& out) const override;
  bool combine(const GroupMap& other, SetOperation operation, MapRef* out) const override;

 private:
  roaring_bitmap_t* set_;
};

}  // namespace fgmpi::groupmap
