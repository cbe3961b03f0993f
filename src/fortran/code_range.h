// Where the code of this library lies that stands between a Fortran program and MPI. Tools that are
// preloaded read it: a call from there is one of the Fortran binding, as one from libmpichfort is.
// Thread rule: constant.
#pragma once

namespace fgmpi::fortran {

struct CodeRange {
  const char* low;
  const char* high;
};

}  // namespace fgmpi::fortran

extern "C" __attribute__((visibility("default")))
const fgmpi::fortran::CodeRange fgmpi_fortran_code;
