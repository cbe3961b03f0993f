// The hosted MPICH: loaded beside this library, initialised late as a singleton, called on the host
// stack.
//
// The host does datatypes, user operations, reduce_local, pack/unpack, error codes, classes and
// strings, MPI_T and ROMIO. Calls with a communicator, group, request or window are answered by
// this library and never reach the host, except for the host's own MPI_COMM_SELF where a call needs
// a communicator.
//
// Thread rule: one thread. Calls run on the host stack and never switch proclets; a user function
// that the host calls back (a reduction) must therefore not call MPI functions that block.
// Invariants: the library is loaded with RTLD_LOCAL|RTLD_DEEPBIND. Its MPI_Init runs at most once,
// on first need. Its MPI_Finalize is never called: it would print warnings about types that the
// program has not freed, and the kernel frees all that it holds when the process ends (its shared
// memory is marked for removal when it is made).
#pragma once

#include <mpi.h>

#include <string>
#include <utility>

#include "base/status.h"
#include "host/host_api.h"  // generated: struct Api { decltype(&::PMPI_X) X; ... }
#include "proclet-sched/sched.h"

namespace fgmpi::host {

/// Finds the path of the library that will be or was loaded (FGMPI_HOST_MPI, or libmpich.so.12 of
/// the library folder that is not this library). An error names the paths that were tried.
Status find_library(std::string* path);

/// Loads the library, without initialising it, and stores what it is: "MPICH 4.2.1".
Status find_version(std::string* name);

/// The host's functions after it has been initialised: loads it on first need. Ends the process
/// with one line when it cannot be loaded.
const Api& api();
/// As api(), loaded but not necessarily initialised (for calls that MPI allows before MPI_Init).
const Api& api_uninitialised();
/// The address of a data symbol of the loaded host; nullptr when it has no such symbol.
/// REQUIRES: loaded().
void* data_symbol(const char* name);
bool loaded();
bool initialised();

/// True if the function is one of the Fortran binding's (libmpichfort).
bool is_of_fortran(const void* function);

/// True for MPI_UNWEIGHTED of C, and for that of mpif.h and the module mpi, which their
/// MPI_Dist_graph_neighbors does not convert.
bool is_unweighted(const int* weights);

/// Calls f(api) on the host stack: int rc = host::call([&](const host::Api& h) { return
/// h.Type_commit(t); });
template <class F>
inline int call(F&& f) {
  int result = MPI_SUCCESS;
  const Api& h = api();
  sched::call_on_host([&] { result = f(h); });
  return result;
}

}  // namespace fgmpi::host
