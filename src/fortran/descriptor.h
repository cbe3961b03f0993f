// ArrayDescriptor: the descriptor of an array or scalar that gfortran passes for an assumed-rank
// argument of a procedure that is not bind(C).
//
//   a(1:20:2, :) of real a(20, 4):  base = a(1,1), 4 bytes an element,
//                                   dimensions of 10 elements, 2 apart, and of 4, 20 apart
//
// The layout is that of gfortran since version 9, which compiled the host's modules of mpi_f08.
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::fortran {

struct ArrayDimension {
  ptrdiff_t stride;  ///< in units of ArrayDescriptor::span
  ptrdiff_t lower, upper;
};

/// Fortran 2018 has at most 15 dimensions.
inline constexpr int kMostDimensions = 15;

struct ArrayDescriptor {
  void* base;  ///< the first element in the order of array elements
  size_t offset;
  size_t element_bytes;
  int32_t version;
  int8_t rank;
  int8_t type;
  int16_t attribute;
  ptrdiff_t span;  ///< bytes
  ArrayDimension dimensions[kMostDimensions];

  /// Bytes from an element to the next one of a dimension.
  ptrdiff_t step(int dimension) const {
    return dimensions[dimension].stride * (span ? span : static_cast<ptrdiff_t>(element_bytes));
  }
  /// Elements of a dimension. The descriptor does not have that of the last dimension of an
  /// assumed-size array: its `upper` is -1.
  ptrdiff_t extent(int dimension) const {
    return dimensions[dimension].upper - dimensions[dimension].lower + 1;
  }
};
static_assert(offsetof(ArrayDescriptor, rank) == 28 && offsetof(ArrayDescriptor, span) == 32 &&
              offsetof(ArrayDescriptor, dimensions) == 40);

/// True where every dimension shows that the elements lie one behind the other. libmpichfort
/// handles such arrays correctly.
inline bool is_contiguous(const ArrayDescriptor& array) {
  auto expected = static_cast<ptrdiff_t>(array.element_bytes);
  for (int i = 0; i < array.rank; ++i) {
    if (array.step(i) != expected) return false;
    expected *= array.extent(i);
  }
  return true;
}

}  // namespace fgmpi::fortran
