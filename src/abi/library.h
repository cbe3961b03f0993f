// The library below: MPI in MPICH's ABI, as libmpi_abi.so.1 calls it, and how a function of the
// standard ABI is exported. Thread rule: any thread.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "abi/mpich_calls.h"

// GCC sees that some of our functions do not throw, and warns where the alias is not declared so.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmissing-attributes"
#endif

/// In front of the definition of standard_NAME: exports it as PMPI_..., with the weak alias
/// MPI_..., so that tools can put their own function in front. The names are given to the assembler
/// only: mpi.h declares functions of the same names with MPICH's types.
#define FGMPI_STANDARD(symbol, result, name, parameters) \
  extern "C" __attribute__((visibility("default")))      \
  result standard_##name parameters asm("P" #symbol);    \
  extern "C" result weak_##name parameters asm(#symbol)  \
      __attribute__((weak, visibility("default"), alias("P" #symbol)));
/// In front of the definition of standard_NAME, for an extension of fgmpi.h: it has no second name.
#define FGMPI_STANDARD_EXTENSION(symbol, result, name, parameters) \
  extern "C" __attribute__((visibility("default"))) result standard_##name parameters asm(#symbol);

/// Marks the part of a function that its usual case does not need.
#define FGMPI_OUT_OF_LINE __attribute__((noinline))

namespace fgmpi::abi {

/// MPI's functions, with those of tools in MPICH's ABI in front of them. Filled when the library is
/// loaded.
extern MpichCalls g_mpich __attribute__((visibility("hidden")));
inline const MpichCalls& mpich() { return g_mpich; }

/// The ranks that an array of a collective has an element for: all of a communicator (of the remote
/// group of an intercommunicator), or the neighbours that a rank receives from or sends to.
enum class ArrayOf : int { kSize, kIn, kOut };
/// Their number; 0 where the handle is no communicator's, or has no neighbours: the call says so.
int64_t length_of(uintptr_t comm, ArrayOf which);

}  // namespace fgmpi::abi
