// Calls of mpi_f08 whose buffers are array sections, which libmpichfort gets wrong: partial counts,
// derived datatypes, several blocks, reductions.
//
//   program --> mpi_send_f08ts_ (here) --contiguous--> mpi_send_f08ts_ (libmpichfort) --> PMPI_Send
//                       |                                    ^
//                       +--section--> call_with_sections() --+ composed type, staged buffer
//
// libmpichfort converts all other arguments, so only buffers are looked at here. The dynamic linker
// finds this library's procedures first: it is named, or preloaded, before libmpichfort.
//
// Thread rule: any thread; what uses the library takes its turn as any call of MPI does. All may
// switch.
#pragma once

#include <mpi.h>

#include <atomic>
#include <utility>

#include "fortran/descriptor.h"
#include "fortran/procedure.h"
#include "host/exported_fortran.h"

/// ProcedureCode between the program and MPI: tools take the program's code behind it for the place
/// of a call (code_range.h).
#define FGMPI_FORTRAN_CODE __attribute__((section("fgmpi_fortran")))
/// A procedure that programs call.
#define FGMPI_FORTRAN_PROCEDURE \
  extern "C" __attribute__((section("fgmpi_fortran"), visibility("default")))

namespace fgmpi::fortran {

using ProcedureCode = void();

/// By libmpichfort's numbers: an even one is mpi_*, the next one pmpir_* of the same procedure.
/// Both are generated.
extern const Procedure kProcedures[];
extern std::atomic<ProcedureCode*> g_next[];

/// libmpichfort's own procedure. Ends the job with one line when there is none.
ProcedureCode* find_next(const Procedure& procedure, unsigned number);

template <size_t... i>
auto as_procedure(ProcedureCode* code, std::index_sequence<i...>) {
  return reinterpret_cast<void (*)(decltype(static_cast<void>(i), Argument())...)>(code);
}

/// The same, found once.
template <size_t arguments>
inline auto next(unsigned number) {
  ProcedureCode* code = g_next[number].load(std::memory_order_acquire);
  if (__builtin_expect(!code, 0)) code = find_next(kProcedures[number / 2], number);
  return as_procedure(code, std::make_index_sequence<arguments>());
}

/// libmpichfort takes contiguous buffers as they are, MPI_BOTTOM and MPI_IN_PLACE among them.
inline bool passes_as_it_is(const void* buffer) {
  return is_contiguous(*static_cast<const ArrayDescriptor*>(buffer));
}

/// The address that C's MPI takes.
inline void* buffer_of(const void* buffer) {
  void* base = static_cast<const ArrayDescriptor*>(buffer)->base;
  if (base == &MPIR_F08_MPI_IN_PLACE) return const_cast<void*>(MPI_IN_PLACE);
  return base == &MPIR_F08_MPI_BOTTOM ? MPI_BOTTOM : base;
}

/// Calls the procedure with a buffer at least that does not pass as it is, or one that is called
/// directly. `arguments` may be changed.
void call_with_sections(const Procedure& procedure, unsigned number, Argument* arguments);

}  // namespace fgmpi::fortran
