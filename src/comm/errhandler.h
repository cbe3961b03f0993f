// Error handlers that programs make (MPI-4.0 section 9.3): functions behind MPI_Errhandler handles.
// A handler is counted by the communicators (windows, sessions, files) that have it, and by the
// user until he frees his handle. Thread rule: any thread at any granted level (MPI-4.0 section
// 11.4.1): a mutex protects the table, and is not held while a handler runs. Nothing here switches
// but call_errhandler().
#pragma once

#include <mpi.h>

#include "base/status.h"
#include "host/handle_bits.h"

namespace fgmpi::comm {

enum class HandlerOf : uint8_t { kComm, kWin, kFile, kSession };

/// The C++ binding's way to call a handler written in C++. `of` is MPICH's number, which differs
/// from HandlerOf by an exchange (communicators 0, files 1, windows 2).
using CxxHandlerCaller = void (*)(int of, int* handle, int* code, void (*function)());

/// The pointer of a program that its handler gets, and what is called with it when the handler's
/// last holder is gone (MPIX_Comm_create_errhandler_x of MPICH 5.0 and its like).
struct HandlerState {
  void* pointer = nullptr;
  void (*destructor)(void* pointer) = nullptr;
};

struct Errhandler {
  void (*function)(void* object, int* code, ...) = nullptr;
  CxxHandlerCaller caller = nullptr;
  HandlerState state;
  bool takes_state = false;    ///< the function's arguments are (handle, code, state)
  bool takes_address = false;  ///< with `takes_state`: of the code, which the call then returns
  HandlerOf of = HandlerOf::kComm;
  uint32_t references = 1;
};

Status create_errhandler(HandlerOf of, void (*function)(void*, int*, ...), MPI_Errhandler* out);
/// Makes a handler whose function gets the handle and the code by value, and the state.
Status create_errhandler(HandlerOf of, void (*function)(), HandlerState state, MPI_Errhandler* out);
/// Makes a handler with a state get the address of the code (mpi/abi_support.h).
void pass_address_of_code(MPI_Errhandler handler);
/// Makes the library call the handler's function through `caller`. Nothing happens when the handle
/// is not one of ours.
void set_cxx_caller(MPI_Errhandler handler, CxxHandlerCaller caller);
/// True if the caller gets errors as codes: for MPI_ERRORS_RETURN, and for the handler whose errors
/// the C++ binding turns into exceptions itself.
inline bool returns_codes(MPI_Errhandler handler) {
  return handler == MPI_ERRORS_RETURN || handler == MPIR_ERRORS_THROW_EXCEPTIONS;
}
/// The error (MPI_ERR_ARG) means that the handle is neither predefined nor an error handler
/// for `of`.
Status check_errhandler(HandlerOf of, MPI_Errhandler handler);
/// Frees a handler for its user. Errors: MPI_ERR_ARG.
Status free_errhandler(MPI_Errhandler handler);

namespace detail {
inline constexpr uint32_t kErrhandlerBase =
    host::handle_base(host::HandleKind::kDirect, host::HandleObject::kErrhandler);
void count_errhandler(MPI_Errhandler handler, int by);
}  // namespace detail

/// Counts one holder more, or one less. Predefined handlers are not counted.
inline void retain_errhandler(MPI_Errhandler handler) {
  if ((static_cast<uint32_t>(handler) & host::kHandleTypeMask) == detail::kErrhandlerBase)
    detail::count_errhandler(handler, 1);
}
inline void release_errhandler(MPI_Errhandler handler) {
  if ((static_cast<uint32_t>(handler) & host::kHandleTypeMask) == detail::kErrhandlerBase)
    detail::count_errhandler(handler, -1);
}

/// Calls the user's function on `object` (address of an MPI_Comm, MPI_Win, ...). May switch (it is
/// user code). Returns false when the handle is not one of ours.
bool call_errhandler(MPI_Errhandler handler, void* object, int* code);

/// The number of handlers in use, for tests.
uint32_t errhandler_count();

}  // namespace fgmpi::comm
