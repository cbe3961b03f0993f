// Exports of the host's library besides the functions of mpi.h: addresses with a meaning, and
// functions that the host's Fortran and C++ bindings or old programs refer to.

#include <mpi.h>

#include "base/function_types.h"
#include "base/modules.h"
#include "host/exported_fortran.h"
#include "host/host.h"

#define FGMPI_EXPORT extern "C" __attribute__((visibility("default")))

// Addresses that programs pass and src/mpi recognises. Their contents are never read.
static int g_unweighted, g_weights_empty, g_all_handles;
FGMPI_EXPORT int* const MPI_UNWEIGHTED = &g_unweighted;
FGMPI_EXPORT int* const MPI_WEIGHTS_EMPTY = &g_weights_empty;
FGMPI_EXPORT MPI_T_pvar_handle const MPI_T_PVAR_ALL_HANDLES =
    reinterpret_cast<MPI_T_pvar_handle>(&g_all_handles);

// Fortran's constants. libmpichfort stores the addresses of common blocks of the program (mpif.h,
// the module mpi) in the first two when it starts. The MPIR_C_ objects are the addresses that the
// module mpi_f08 passes to C in place of its own MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY. The
// MPIR_F08_ objects are its variables of the same names. libmpichfort has definitions of its own of
// the MPIR_ objects: all libraries use those of the library that the program names first.
extern "C" {
#define FGMPI_DATA __attribute__((visibility("default")))
FGMPI_DATA MPI_Fint* MPI_F_STATUS_IGNORE = nullptr;
FGMPI_DATA MPI_Fint* MPI_F_STATUSES_IGNORE = nullptr;
FGMPI_DATA int* MPIR_C_MPI_UNWEIGHTED = nullptr;
FGMPI_DATA int* MPIR_C_MPI_WEIGHTS_EMPTY = nullptr;
/// The address of MPI_UNWEIGHTED in mpif.h and the module mpi; defined by libmpichfort, where that
/// is loaded.
[[gnu::weak]] extern int* MPIR_F_MPI_UNWEIGHTED;
/// A function of libmpichfort, which shows whether that is loaded.
[[gnu::weak]] void mpirinitf_();
/// Fortran's logical values, which libmpichfort reads from MPICH 5.0 on.
FGMPI_DATA MPI_Fint MPIR_fortran_true = 1;
FGMPI_DATA MPI_Fint MPIR_fortran_false = 0;
FGMPI_DATA int MPIR_F08_MPI_BOTTOM = 0;
FGMPI_DATA int MPIR_F08_MPI_IN_PLACE = 0;
FGMPI_DATA MPI_F08_status MPIR_F08_MPI_STATUS_IGNORE_OBJ = {};
FGMPI_DATA MPI_F08_status MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1] = {};
FGMPI_DATA MPI_F08_status* MPI_F08_STATUS_IGNORE = &MPIR_F08_MPI_STATUS_IGNORE_OBJ;
FGMPI_DATA MPI_F08_status* MPI_F08_STATUSES_IGNORE = &MPIR_F08_MPI_STATUSES_IGNORE_OBJ[0];
}

// This is an assignment and not an initialiser, as it must reach libmpichfort's own definitions
// when those are in use.
[[gnu::constructor]] static void tell_mpi_f08() {
  MPIR_C_MPI_UNWEIGHTED = MPI_UNWEIGHTED;
  MPIR_C_MPI_WEIGHTS_EMPTY = MPI_WEIGHTS_EMPTY;
}

bool fgmpi::host::is_unweighted(const int* weights) {
  return weights == MPI_UNWEIGHTED ||
         (&MPIR_F_MPI_UNWEIGHTED && weights && weights == MPIR_F_MPI_UNWEIGHTED);
}

bool fgmpi::host::is_of_fortran(const void* function) {
  return &mpirinitf_ && in_same_module(reinterpret_cast<const void*>(&mpirinitf_), function);
}

/// MPI_COMM_DUP_FN and similar functions (mpi.h): copies the attribute's value.
FGMPI_EXPORT int MPIR_Dup_fn(MPI_Comm, int, void*, void* value, void* copy, int* flag) {
  *static_cast<void**>(copy) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

// The host's own error reporting, which its file layer uses inside the host. These are for programs
// that refer to them: an error code is its class.
FGMPI_EXPORT int MPIR_Err_create_code(int, int, const char*, int, int error_class, const char*,
                                      const char*, ...) {
  return error_class;
}
FGMPI_EXPORT int MPIR_Err_return_comm(void*, const char*, int code) { return code; }
FGMPI_EXPORT int MPIR_Err_return_win(void*, const char*, int code) { return code; }
FGMPI_EXPORT int MPIR_Err_return_group(void*, const char*, int code) { return code; }
FGMPI_EXPORT int MPIR_Err_return_session(void*, const char*, int code) { return code; }
FGMPI_EXPORT int MPIR_Err_return_session_init(void*, const char*, int code) { return code; }
FGMPI_EXPORT int MPIR_Err_return_comm_create_from_group(int, const char*, int code) { return code; }

// The QMPI interface lets tools interpose the host's functions. They would not see this library's
// functions, so registration fails.
FGMPI_EXPORT int QMPI_Register_tool_name(const char*, void (*)(int)) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
FGMPI_EXPORT int QMPI_Register_tool_storage(int, void*) { return MPI_ERR_UNSUPPORTED_OPERATION; }
// MPICH 4.0 names a function of MPI by an enumeration here, later versions by a number.
FGMPI_EXPORT int QMPI_Register_function(int,
                                        fgmpi::SecondParameter<decltype(QMPI_Register_function)>,
                                        void (*)(void)) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
FGMPI_EXPORT int QMPI_Get_function(int, fgmpi::SecondParameter<decltype(QMPI_Get_function)>,
                                   void (**)(void), int*) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
FGMPI_EXPORT int QMPI_Get_tool_storage(QMPI_Context, int, void**) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
FGMPI_EXPORT int QMPI_Get_calling_address(QMPI_Context, void**) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
