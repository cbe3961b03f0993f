// What bounds and trees of a datatype are computed from: its inner types, as they lie in memory or,
// with other sizes of predefined types, in a file.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "datatype/derived_type.h"
#include "datatype/type_tree.h"

namespace fgmpi::datatype {

class TypeSource {
 public:
  /// Inner types as they lie in memory.
  TypeSource() = default;
  /// Inner types with other sizes of predefined types, which have neither gaps nor alignment.
  explicit TypeSource(const PlacedSizes* sizes) : sizes_(sizes) {}

  TypeBounds bounds(const Type& type) const;
  int64_t size(const Type& type) const;
  int64_t low(const Type& type) const;   ///< least offset of its bytes
  int64_t high(const Type& type) const;  ///< greatest offset of its bytes, plus one
  /// The positions of the bytes of one element at offset 0.
  TypePart part(const Type& type) const;

  Status bounds_of(const TypeContents& contents, TypeBounds* out) const;
  TypePart part_of(const TypeContents& contents) const;

 private:
  /// A derived type with other sizes of predefined types.
  struct PlacedType {
    TypeBounds bounds;
    TypePart part;
  };
  /// REQUIRES: the source has other sizes, and the type is no pair.
  const PlacedType& placed(const DerivedType* type) const;
  /// REQUIRES: the types that it is made of are placed.
  PlacedType place(const DerivedType& type) const;
  int64_t basic_size(MPI_Datatype type) const;
  TypePart blocks(const TypeContents& contents) const;

  const PlacedSizes* sizes_ = nullptr;
  /// Those that were asked for.
  mutable std::unordered_map<const DerivedType*, PlacedType> placed_;
};

/// The sizes of all dimensions of a subarray's or a distributed array's whole array.
std::vector<int64_t> array_sizes(const TypeContents& contents);

}  // namespace fgmpi::datatype
