// ArraySection: an array section as MPI sees it (MPI-4.0 section 19.1.12): its elements one behind
// the other, the *sequence*.
//
//   real a(4,6), a(1:4:2, 2:6:2)   memory    a(1,2) . a(3,2) . | . . . . | a(1,4) . a(3,4) . | ...
//                                  sequence  a(1,2) a(3,2) a(1,4) a(3,4) a(1,6) a(3,6)
//
// Counts, datatypes and displacements of a call refer to the sequence; positions in it are offsets
// in bytes.
//
// Thread rule: any thread. Invariant: dimensions whose elements lie one behind the other are
// joined, so a contiguous section has no dimensions. An *element* here is the longest row of
// contiguous bytes of which the whole section consists.
#pragma once

#include <algorithm>
#include <cstdint>

#include "fortran/descriptor.h"

namespace fgmpi::fortran {

class ArraySection {
 public:
  explicit ArraySection(const ArrayDescriptor& array);

  char* base() const { return base_; }
  int64_t element() const { return element_; }  ///< bytes
  int dimensions() const { return dimensions_; }
  int64_t extent(int dimension) const { return extent_[dimension]; }  ///< elements
  int64_t step(int dimension) const { return step_[dimension]; }      ///< bytes in memory
  /// Bytes of the sequence. Of contiguous memory the length is unknown, since programs pass its
  /// first element: then this is the largest number.
  int64_t bytes() const { return bytes_; }
  bool contiguous() const { return dimensions_ == 0; }

  /// Calls f(offset in memory from base(), bytes) for each row of the `length` bytes of the
  /// sequence from `offset` on, in order. REQUIRES: 0 <= offset, offset + length <= bytes().
  template <class F>
  void for_each_row(int64_t offset, int64_t length, F&& f) const {
    if (length <= 0) return;
    if (contiguous()) return f(offset, length);
    int64_t index[kMostDimensions], number = offset / element_, inside = offset % element_, at = 0;
    for (int d = 0; d < dimensions_; ++d) {
      index[d] = number % extent_[d];
      number /= extent_[d];
      at += index[d] * step_[d];
    }
    for (;;) {
      const int64_t n = std::min(length, element_ - inside);
      f(at + inside, n);
      length -= n;
      if (length == 0) return;
      inside = 0;
      for (int d = 0; d < dimensions_; ++d) {
        at += step_[d];
        if (++index[d] < extent_[d]) break;
        at -= extent_[d] * step_[d];
        index[d] = 0;
      }
    }
  }

 private:
  char* base_;
  int64_t element_, bytes_ = 0;
  int dimensions_ = 0;
  int64_t extent_[kMostDimensions], step_[kMostDimensions];
};

}  // namespace fgmpi::fortran
