// The address range of this library's code between a Fortran program and MPI. Preloaded tools read
// it: a call from this range is a call by the Fortran binding, as one from libmpichfort is. Thread
// rule: constant.
#pragma once

namespace fgmpi::fortran {

struct CodeRange {
  const char* low;
  const char* high;
};

}  // namespace fgmpi::fortran

extern "C" __attribute__((visibility("default")))
const fgmpi::fortran::CodeRange fgmpi_fortran_code;
