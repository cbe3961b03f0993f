// From a Status to what MPI says: error codes, error handlers, the fatal line.
//
// A code that we return is class | slot of a ring of the last messages, so that MPI_Error_class gives the
// class and MPI_Error_string the words; host codes pass through. MPI-4.0 chapter 9.
//
// Thread rule: any thread at any granted level may make codes, ask for classes and words, and fail
// without an object (MPI-4.0 section 11.4.1); the rest is for the thread that is inside.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

#include "base/status.h"
#include "comm/comm.h"

namespace fgmpi::mpi {

/// Makes a code from a Status (MPI_SUCCESS when ok) without calling any handler.
int code_of(const char* call, const Status& status);

/// Calls the error handler of `comm` and returns the code. nullptr: the handler of MPI_COMM_SELF
/// (MPI-4.0 section 9.3) or, while the program has set none there, of MPI_COMM_WORLD; fatal before
/// MPI_Init. With MPI_ERRORS_ARE_FATAL prints one line and ends the job.
int fail(const char* call, comm::Comm* comm, const Status& status);
inline int fail(const char* call, std::nullptr_t, const Status& status) {
  return fail(call, static_cast<comm::Comm*>(nullptr), status);
}
/// The same for a code that exists already.
int fail_code(const char* call, comm::Comm* comm, int code);

/// For a call that std::bad_alloc ended: MPI_ERR_NO_MEM. Whatever memory a call needs and cannot
/// have is that call's error; nothing else is changed by it.
int no_memory(const char* call, MPI_Comm handle);

/// For generated stubs: the call is not there yet. Class MPI_ERR_UNSUPPORTED_OPERATION.
int unsupported(const char* call, MPI_Comm comm);
/// For generated stubs: the hosted MPICH returned `code`.
int host_error(const char* call, int code);

/// A null or unknown communicator handle.
int bad_comm(const char* call, MPI_Comm handle);

/// The class of any code, and its words (ours, or the host's for codes that it made).
int class_of(int code);
std::string text_of(int code);

/// The handler that a communicator has; MPI_ERRORS_ARE_FATAL where none was set (what
/// MPI_Comm_get_errhandler says).
inline MPI_Errhandler handler_or_default(const comm::Comm* comm) {
  return comm->errhandler == MPI_ERRHANDLER_NULL ? MPI_ERRORS_ARE_FATAL : comm->errhandler;
}

/// How error handlers made by the user are called (src/mpi/comm_errhandler.cc sets it): may change
/// *code.
using UserHandlerCaller = void (*)(comm::Comm* comm, MPI_Errhandler handler, int* code);
void set_user_handler_caller(UserHandlerCaller caller);

/// A tool's function that is called by the rank whose error ends the job, with the class and the
/// words of it.
void set_tool_fatal(void (*fatal)(int error_class, const char* text));

/// "fgmpi: rank 3 in MPI_Send: ..." to stderr, then ends the job with `exit_code`.
[[noreturn]] void abort_job(int exit_code, const std::string& line);

}  // namespace fgmpi::mpi
