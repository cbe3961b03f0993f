// Sessions as bindings see them (MPI-4.0 section 11.3). A session has its own error handler, for
// calls that name it. Thread rule: any thread at any granted level may begin and end sessions and
// look them up (MPI-4.0 section 11.3.1); a session itself is for one thread at a time, as its level
// says.
#pragma once

#include <mpi.h>

#include "comm/hints.h"
#include "host/handle_bits.h"
#include "mpi/errors/errors.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::mpi {

struct Session {
  MPI_Session handle = MPI_SESSION_NULL;
  MPI_Errhandler errhandler = MPI_ERRORS_ARE_FATAL;
  comm::Hints hints;
  pt2pt::BufferPlace buffer;
  /// The session's number in its communicators and groups; none has 0.
  uint32_t number() const { return host::handle_index(handle) + 1; }
};

/// The session of a number, or nullptr.
Session* session_of_number(uint32_t number);
/// The kinds of memory for the objects of a session by its number, or of MPI_Init (0): the value of
/// comm::kMemoryKindsKey.
std::string memory_kinds(uint32_t session);
/// The session behind a handle, or nullptr.
Session* find_session(MPI_Session handle);
/// The result of a call with a handle that is not a session's.
int bad_session(const char* call, MPI_Session handle);
/// Makes a code of the error and calls the session's handler.
int fail(const char* call, Session* session, const Status& status);
/// Ends a binding: MPI_SUCCESS, or the error handler's answer.
inline int done(const char* call, Session* session, const Status& status) {
  return status.ok() ? MPI_SUCCESS : fail(call, session, status);
}

}  // namespace fgmpi::mpi
