// Calls of mpi_f08 whose buffers are array sections, which libmpichfort gets wrong: partial counts,
// derived datatypes, several blocks, reductions.
//
//   program --> mpi_send_f08ts_ (here) --contiguous--> mpi_send_f08ts_ (libmpichfort) --> PMPI_Send
//                       |                                    ^
//                       +--section--> call_with_sections() --+ composed type, staged buffer
//
// libmpichfort converts all other arguments, so the procedures here examine only buffers. The
// dynamic linker finds this library's procedures first, since programs name or preload it before
// libmpichfort.
//
// Thread rule: any thread; code that uses the library waits for its turn as any call of MPI does.
// All may switch.
#pragma once

#include <mpi.h>

#include <atomic>
#include <utility>

#include "fortran/descriptor.h"
#include "fortran/procedure.h"
#include "host/exported_fortran.h"

/// Marks code between the program and MPI. Tools skip return addresses in it (code_range.h), so
/// that the site of a call is in the program.
#define FGMPI_FORTRAN_CODE __attribute__((section("fgmpi_fortran")))
/// A procedure that programs call.
#define FGMPI_FORTRAN_PROCEDURE \
  extern "C" __attribute__((section("fgmpi_fortran"), visibility("default")))

namespace fgmpi::fortran {

using ProcedureCode = void();

/// g_next[2 * i] is the code of libmpichfort's mpi_* procedure for kProcedures[i], g_next[2 * i +
/// 1] that of its pmpir_* procedure; null until find_next() has found it. Both tables are
/// generated.
extern const Procedure kProcedures[];
extern std::atomic<ProcedureCode*> g_next[];

/// Finds libmpichfort's own procedure `number`. Ends the job with one line when there is none.
ProcedureCode* find_next(const Procedure& procedure, unsigned number);

template <size_t... i>
auto as_procedure(ProcedureCode* code, std::index_sequence<i...>) {
  return reinterpret_cast<void (*)(decltype(static_cast<void>(i), Argument())...)>(code);
}

/// Returns libmpichfort's own procedure, which the first call looks up.
template <size_t arguments>
inline auto next(unsigned number) {
  ProcedureCode* code = g_next[number].load(std::memory_order_acquire);
  if (__builtin_expect(!code, 0)) code = find_next(kProcedures[number / 2], number);
  return as_procedure(code, std::make_index_sequence<arguments>());
}

/// True for a buffer that libmpichfort handles correctly: contiguous memory, MPI_BOTTOM and
/// MPI_IN_PLACE.
inline bool passes_as_it_is(const void* buffer) {
  return is_contiguous(*static_cast<const ArrayDescriptor*>(buffer));
}

/// The address of a buffer for a call of MPI's C functions.
inline void* buffer_of(const void* buffer) {
  void* base = static_cast<const ArrayDescriptor*>(buffer)->base;
  if (base == &MPIR_F08_MPI_IN_PLACE) return const_cast<void*>(MPI_IN_PLACE);
  return base == &MPIR_F08_MPI_BOTTOM ? MPI_BOTTOM : base;
}

/// Makes a call in which a buffer is a section, or a call that bypasses libmpichfort
/// (Procedure::direct). May change `arguments`.
void call_with_sections(const Procedure& procedure, unsigned number, Argument* arguments);

}  // namespace fgmpi::fortran
