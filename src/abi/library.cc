// What libmpi_abi.so.1 does when it is loaded, and its functions that translate nothing.

#include "abi/library.h"

#include <cstdarg>
#include <cstdlib>

#include "abi/convert.h"
#include "mpi/abi_support.h"
#include "privatize/load/standard_abi.h"

namespace fgmpi::abi {

constinit MpichCalls g_mpich = {};

int64_t length_of(uintptr_t comm, ArrayOf which) {
  return fgmpi_abi_length(to_mpich(comm), static_cast<int>(which));
}

namespace {

/// Binds what is loaded, before any of its constructors runs: those of libraries that a library
/// needs run first. Where a tool in MPICH's ABI (mpiexec -check, -report) is preloaded, calls go
/// through it.
[[gnu::constructor]] void begin() {
  fgmpi_abi_bind();
  g_mpich = fgmpi_mpich_calls;
  for_each_call(&g_mpich, [](const char* name, void** function) {
    if (void* of_tool = fgmpi_abi_tool_function(name)) *function = of_tool;
  });
}

/// The number of a handle: its own where it is predefined, else MPICH's.
int number_of(Handle handle) { return static_cast<int>(handle); }
Handle numbered(int number) { return static_cast<uint32_t>(number); }

}  // namespace
}  // namespace fgmpi::abi

using namespace fgmpi::abi;

// ---- Handles as numbers (MPI 5.0 section 20.3.4) ------------------------------------------------

#define FGMPI_NUMBERED(kind)                                                          \
  FGMPI_STANDARD(MPI_##kind##_toint, int, kind##_toint, (Handle handle))              \
  extern "C" int standard_##kind##_toint(Handle handle) { return number_of(handle); } \
  FGMPI_STANDARD(MPI_##kind##_fromint, Handle, kind##_fromint, (int number))          \
  extern "C" Handle standard_##kind##_fromint(int number) { return numbered(number); }

FGMPI_NUMBERED(Comm)
FGMPI_NUMBERED(Errhandler)
FGMPI_NUMBERED(File)  // its handle has 32 bits in MPICH's ABI, too, though it is a pointer
FGMPI_NUMBERED(Group)
FGMPI_NUMBERED(Info)
FGMPI_NUMBERED(Message)
FGMPI_NUMBERED(Op)
FGMPI_NUMBERED(Request)
FGMPI_NUMBERED(Session)
FGMPI_NUMBERED(Type)
FGMPI_NUMBERED(Win)

// ---- Time, addresses, versions ------------------------------------------------------------------

FGMPI_STANDARD(MPI_Wtime, double, Wtime, (void))
extern "C" double standard_Wtime(void) { return mpich().Wtime(); }

FGMPI_STANDARD(MPI_Wtick, double, Wtick, (void))
extern "C" double standard_Wtick(void) { return mpich().Wtick(); }

FGMPI_STANDARD(MPI_Aint_add, intptr_t, Aint_add, (intptr_t base, intptr_t disp))
extern "C" intptr_t standard_Aint_add(intptr_t base, intptr_t disp) {
  return mpich().Aint_add(base, disp);
}

FGMPI_STANDARD(MPI_Aint_diff, intptr_t, Aint_diff, (intptr_t one, intptr_t other))
extern "C" intptr_t standard_Aint_diff(intptr_t one, intptr_t other) {
  return mpich().Aint_diff(one, other);
}

// The arguments behind the level have no meaning that a library knows.
FGMPI_STANDARD(MPI_Pcontrol, int, Pcontrol, (int level, ...))
extern "C" int standard_Pcontrol(int level, ...) { return mpich().Pcontrol(level); }

// The exit code of a job is the program's number, not an error class.
FGMPI_STANDARD(MPI_Abort, int, Abort, (Handle comm, int errorcode))
extern "C" int standard_Abort(Handle comm, int errorcode) {
  return code_to_standard(mpich().Abort(to_mpich(comm), errorcode));
}

FGMPI_STANDARD(MPI_Get_version, int, Get_version, (int* version, int* subversion))
extern "C" int standard_Get_version(int* version, int* subversion) {
  const int code = mpich().Get_version(version, subversion);
  if (code == MPI_SUCCESS) *version = 5, *subversion = 0;
  return code_to_standard(code);
}

FGMPI_STANDARD(MPI_Abi_get_version, int, Abi_get_version, (int* abi_major, int* abi_minor))
extern "C" int standard_Abi_get_version(int* abi_major, int* abi_minor) {
  // MPICH's own answer checks the arguments.
  const int code = mpich().Get_version(abi_major, abi_minor);
  if (code == MPI_SUCCESS) *abi_major = 1, *abi_minor = 0;
  return code_to_standard(code);
}

// ---- A function for each rank (fgmpi.h) ---------------------------------------------------------

FGMPI_STANDARD_EXTENSION(FGmpiexec, int, FGmpiexec,
                         (int* argc, char*** argv, LookupMapPtr_t lookup))
extern "C" int standard_FGmpiexec(int* argc, char*** argv, LookupMapPtr_t lookup) {
  return code_to_standard(mpich().FGmpiexec(argc, argv, lookup));
}
