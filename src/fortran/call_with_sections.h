// Calls of mpi_f08 whose buffers are array sections.
//
//   program --> mpi_send_f08ts_ (libmpichfort) --contiguous--> MPI_Send
//                       |                                         ^
//                       +--section--> fgmpi_call_with_sections() -+ composed type, staged buffer
//
// libmpichfort (src/mpichfort) converts all other arguments.
//
// Thread rule: any thread; code that uses the library waits for its turn as any call of MPI does.
// All may switch.
#pragma once

#include <mpi.h>

#include "fortran/descriptor.h"
#include "fortran/procedure.h"
#include "host/exported_fortran.h"

namespace fgmpi::fortran {

/// The address of a buffer, or of MPI_BOTTOM or MPI_IN_PLACE.
inline void* base_of(const void* buffer) {
  return static_cast<const ArrayDescriptor*>(buffer)->base;
}

inline Argument argument(const void* address) { return const_cast<void*>(address); }
inline Argument argument(size_t length) { return reinterpret_cast<void*>(length); }

/// Goes on with a call whose sections have been replaced.
using Continuation = void (*)(const Argument* arguments);

}  // namespace fgmpi::fortran

extern "C" {
/// Makes a call in which a buffer is a section. libmpichfort's procedures call it.
__attribute__((visibility("default"))) void fgmpi_call_with_sections(
    const fgmpi::fortran::Procedure& procedure, const fgmpi::fortran::Argument* arguments,
    fgmpi::fortran::Continuation next);
}
