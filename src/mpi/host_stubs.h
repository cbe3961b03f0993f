// What the generated stubs of functions that the host answers call (src/host/generate/generate.py).
// Only these stubs include it.
#pragma once

#include <mpi.h>

#include <string_view>
#include <type_traits>

#include "host/host.h"
#include "mpi/entry.h"
#include "mpi/errors/errors.h"
#include "mpi/tools/tool.h"

#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmissing-attributes"  // see mpi/own.h
#endif

#define FGMPI_STUB __attribute__((visibility("default")))
#define FGMPI_WEAK(target) __attribute__((weak, visibility("default"), alias(#target)))

namespace fgmpi::mpi::stub {

using host::Api;

/// The host sees its own MPI_COMM_SELF for any communicator of ours, and a null communicator
/// unchanged.
inline MPI_Comm comm(MPI_Comm ours) { return ours == MPI_COMM_NULL ? ours : MPI_COMM_SELF; }

/// Calls a function of the host on the host stack. A failure calls the error handler; functions of
/// the tools interface return their codes without it (MPI-4.0 section 15.3.10).
template <class R, class... P, class... A>
R forward(const Api& api, R (*Api::*member)(P...), const char* call, A... arguments) {
  auto* function = api.*member;
  if constexpr (std::is_void_v<R>) {
    if (function)
      sched::call_on_host([&] { function(arguments...); });
    else
      unsupported(call, MPI_COMM_NULL);
  } else {
    if (!function) return unsupported(call, MPI_COMM_NULL);
    int code = MPI_SUCCESS;
    sched::call_on_host([&] { code = function(arguments...); });
    const bool tools = std::string_view(call).starts_with("MPI_T_");
    return code == MPI_SUCCESS || tools ? code : host_error(call, code);
  }
}

}  // namespace fgmpi::mpi::stub

namespace stub = fgmpi::mpi::stub;
namespace tool = fgmpi::mpi::tool;
