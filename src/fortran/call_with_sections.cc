// A call of mpi_f08 with array sections: prepares its buffers, lets libmpichfort go on with them
// and ends the call.

#include "fortran/call_with_sections.h"

#include <algorithm>

#include "fortran/code_range.h"
#include "fortran/section_call.h"
#include "mpi/binding.h"
#include "mpi/file/file.h"
#include "mpi/rma/win.h"

/// Marks code between the program and MPI. Tools skip return addresses in it (code_range.h), so
/// that the site of a call is in the program.
#define FGMPI_FORTRAN_CODE __attribute__((section("fgmpi_fortran")))

namespace fgmpi::fortran {
namespace {

template <class Body>
auto run_in_library(const char* call, Body&& body) {
  if (__builtin_expect(sched::outside(), 0)) return mpi::run_inside_here(call, body);
  return body();
}

int fail(const Procedure& p, const Argument* arguments, const Status& status) {
  const auto handle = p.object == kAbsent ? 0 : *static_cast<const int*>(arguments[p.object]);
  if (p.object != kAbsent && p.answers == Answers::kWindow)
    if (rma::Win* win = rma::find(handle)) return mpi::fail(p.call, win, status);
  if (p.object != kAbsent && p.answers == Answers::kFile)
    if (file::File* file = file::find(MPI_File_f2c(handle))) return mpi::fail(p.call, file, status);
  const bool comm = p.object != kAbsent && p.answers == Answers::kCommunicator;
  return mpi::fail(p.call, comm ? comm::find(handle) : nullptr, status);
}

}  // namespace
}  // namespace fgmpi::fortran

using namespace fgmpi;
using namespace fgmpi::fortran;

FGMPI_FORTRAN_CODE void fgmpi_call_with_sections(const Procedure& procedure,
                                                 const Argument* arguments, Continuation next) {
  Argument passed[kMostArguments] = {};
  std::copy(arguments, arguments + procedure.arguments, passed);
  int code = MPI_SUCCESS;
  passed[procedure.error] = &code;
  SectionCall call(procedure, passed);
  const bool ready = run_in_library(procedure.call, [&] {
    const Status status = call.prepare();
    if (!status.ok()) code = fail(procedure, passed, status);
    return status.ok();
  });
  if (ready) next(passed);
  run_in_library(procedure.call, [&] {
    call.finish(ready, code);
    return 0;
  });
  if (auto* error = static_cast<int*>(arguments[procedure.error])) *error = code;
}

extern "C" {
[[gnu::visibility("hidden")]] extern const char __start_fgmpi_fortran[], __stop_fgmpi_fortran[];
const fgmpi::fortran::CodeRange fgmpi_fortran_code{__start_fgmpi_fortran, __stop_fgmpi_fortran};
}
