// An array section: from gfortran's descriptor to dimensions, strides and pieces.

#include "fortran/section.h"

#include <limits>

namespace fgmpi::fortran {

ArraySection::ArraySection(const ArrayDescriptor& array)
    : base_(static_cast<char*>(array.base)), element_(static_cast<int64_t>(array.element_bytes)) {
  bool empty = element_ == 0;
  for (int d = 0; d < array.rank; ++d) {
    const int64_t extent = array.extent(d), step = array.step(d);
    empty |= extent <= 0;
    if (extent == 1) continue;
    if (dimensions_ == 0 && step == element_) {
      element_ *= extent;
    } else if (dimensions_ > 0 && step == step_[dimensions_ - 1] * extent_[dimensions_ - 1]) {
      extent_[dimensions_ - 1] *= extent;
    } else {
      extent_[dimensions_] = extent;
      step_[dimensions_++] = step;
    }
  }
  // A section without elements has no bytes, however its dimensions lie.
  if (empty) {
    dimensions_ = 0;
    return;
  }
  bytes_ = element_;
  for (int d = 0; d < dimensions_; ++d) bytes_ *= extent_[d];
  if (contiguous()) bytes_ = std::numeric_limits<int64_t>::max();
}

}  // namespace fgmpi::fortran
