// Places: the instruction of the program that called MPI, for tools in front of the MPI
// functions (PMPI).
//
// A call of MPI from Fortran or from MPI-2's C++ binding comes from the binding's library, or from
// src/fortran, and one of the standard ABI from libmpi_abi. Its place is in the program's code,
// which called these. Thread rule:
// find_bindings() once, before the other functions; then any thread that is inside a call.
#pragma once

#include <cstdint>

namespace fgmpi::findings {

struct Bindings {
  uintptr_t fortran_low = 0, fortran_high = 0;  ///< code of the Fortran binding, which calls PMPI_*
  uintptr_t own_low = 0, own_high = 0;          ///< the library's code in front of it (src/fortran)
  uintptr_t cxx_low = 0, cxx_high = 0;          ///< code of MPI-2's C++ binding
  uintptr_t abi_low = 0, abi_high = 0;          ///< code of libmpi_abi
};
extern Bindings g_bindings;

/// May the files of modules be read? Else a method of C++'s binding of which the program has a copy
/// counts as the program's own code.
extern bool g_reads_modules;

/// Finds the bindings among the loaded libraries.
void find_bindings();

/// Is the caller in the Fortran binding? Its procedures of mpi_f08 call PMPI_* directly.
inline bool from_fortran(const void* caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  const Bindings& p = g_bindings;
  return __builtin_expect(address - p.fortran_low < p.fortran_high - p.fortran_low, 0) ||
         __builtin_expect(address - p.own_low < p.own_high - p.own_low, 0);
}

/// The place of a call that returns to this address, as an address of the program as the linker
/// loaded it: for dladdr and addr2line. REQUIRES: the call has not returned.
uint64_t place_of(const void* return_address);

/// The address as the linker loaded it, also where it is in a binding: without heap, which a search
/// for the binding's caller needs for the tables of each rank's image.
uint64_t place_in_first_image(const void* return_address);

}  // namespace fgmpi::findings
