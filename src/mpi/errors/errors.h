// From a Status to the error that a program sees: error codes, error handlers, the fatal line.
//
// A code made here is class | slot of a ring of the last messages: MPI_Error_class returns the
// class, MPI_Error_string the text. Codes of the host are returned as they are. MPI-4.0 chapter 9.
//
// Thread rule: any thread at any granted level may make codes, ask for classes and texts, and fail
// without an object (MPI-4.0 section 11.4.1); all other functions are for the thread that is
// inside.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

#include "base/status.h"
#include "comm/comm.h"

namespace fgmpi::mpi {

/// Makes a code from a Status (MPI_SUCCESS when ok) without calling any handler.
int code_of(const char* call, const Status& status);

/// Calls the error handler of `comm` and returns the code. For nullptr, the handler is that of
/// MPI_COMM_SELF (MPI-4.0 section 9.3) or, while the program has set none there, of MPI_COMM_WORLD;
/// the error is fatal before MPI_Init. MPI_ERRORS_ARE_FATAL prints one line and ends the job.
int fail(const char* call, comm::Comm* comm, const Status& status);
inline int fail(const char* call, std::nullptr_t, const Status& status) {
  return fail(call, static_cast<comm::Comm*>(nullptr), status);
}
/// As fail(), for a code that exists already.
int fail_code(const char* call, comm::Comm* comm, int code);

/// Makes MPI_ERR_NO_MEM for a call that std::bad_alloc has ended. Memory that a call needs and
/// cannot allocate is that call's error; nothing else changes.
int no_memory(const char* call, MPI_Comm handle);

/// For generated stubs: the call is not implemented yet. Class MPI_ERR_UNSUPPORTED_OPERATION.
int unsupported(const char* call, MPI_Comm comm);
/// For generated stubs: the hosted MPICH returned `code`.
int host_error(const char* call, int code);

/// The error for a null or unknown communicator handle.
int bad_comm(const char* call, MPI_Comm handle);

/// The class of any code, and its text (ours, or the host's for codes that the host made).
int class_of(int code);
std::string text_of(int code);

/// The handler of a communicator; MPI_ERRORS_ARE_FATAL where none was set (the answer of
/// MPI_Comm_get_errhandler).
inline MPI_Errhandler handler_or_default(const comm::Comm* comm) {
  return comm->errhandler == MPI_ERRHANDLER_NULL ? MPI_ERRORS_ARE_FATAL : comm->errhandler;
}

/// The function that calls error handlers made by the user; it may change *code.
/// src/mpi/comm/comm_errhandler.cc sets it.
using UserHandlerCaller = void (*)(comm::Comm* comm, MPI_Errhandler handler, int* code);
void set_user_handler_caller(UserHandlerCaller caller);

/// Sets a tool's function, which the rank calls whose error ends the job, with the error's class
/// and text.
void set_tool_fatal(void (*fatal)(int error_class, const char* text));

/// Prints "fgmpi: rank 3 in MPI_Send: ..." to standard error, then ends the job with `exit_code`.
[[noreturn]] void abort_job(int exit_code, const std::string& line);

}  // namespace fgmpi::mpi
