// Which MPI a module calls, where a process has both: libmpi_abi.so.1 (the standard ABI) exports
// functions of the same names as this library (MPICH's ABI).
//
//   a module that needs             its MPI_*, PMPI_* and MPIX_* are those of
//   libmpi_abi.so.1 (or .so.0)      the first module with such a name that needs it, too: a tool in
//                                   the standard ABI, or libmpi_abi itself
//   anything else                   the first module of all, as the dynamic linker finds it: this
//                                   library comes before libmpi_abi, which needs it
//
// The dynamic linker binds by name alone, so modules of the first kind are bound anew after it: at
// the start, when libmpi_abi's constructor runs, and after each dlopen. Thread rule: any thread;
// one at a time is inside dlopen.
#pragma once

#include <link.h>

namespace fgmpi::privatize {

/// Binds modules that were loaded since the last call. Does nothing while libmpi_abi is not loaded.
void bind_standard_abi();
/// libmpi_abi is loaded. Read and written by has_standard_abi() and fgmpi_abi_bind().
extern constinit bool g_has_standard_abi;
/// Is libmpi_abi loaded? Not instrumented: it is asked before a sanitizer has set up its memory.
__attribute__((no_sanitize("address", "undefined"))) inline bool has_standard_abi() {
  return __atomic_load_n(&g_has_standard_abi, __ATOMIC_RELAXED);
}
/// The function of the standard ABI that code of the module finds by this name, where the module
/// calls that ABI; else nullptr.
void* find_standard_function(const link_map* caller, const char* name);

}  // namespace fgmpi::privatize

extern "C" {
/// libmpi_abi's constructor calls this: from now on modules are bound.
__attribute__((visibility("default"))) void fgmpi_abi_bind(void);
/// The function of this name of a preloaded tool in MPICH's ABI (mpiexec -check, -report, -track);
/// nullptr where no tool has one.
__attribute__((visibility("default"))) void* fgmpi_abi_tool_function(const char* name);
}
