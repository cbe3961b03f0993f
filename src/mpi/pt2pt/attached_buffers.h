// Buffers of buffered sends (MPI-4.1 section 3.6): one of the rank, and one of each communicator
// and session that the program gives one.
//
// A buffered send uses the communicator's buffer; without one, that of the session from which the
// communicator's group is; without one, the rank's. Thread rule: one thread, inside the library.
// Flushes and detaches may switch.
#pragma once

#include <mpi.h>

#include "comm/extras.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::mpi {

/// The buffer for a send on a communicator; nullptr where none is attached. Never switches.
pt2pt::AttachedBuffer* buffer_for(const comm::Comm* comm);
/// buffer_for() for persistent sends, which hold a reference to their communicator.
pt2pt::AttachedBuffer* buffer_of_comm(const RefCount* comm);

int detach_buffer(const char* call, void* buffer, int* size);
int detach_buffer(const char* call, void* buffer, MPI_Count* size);
int detach_comm_buffer(const char* call, MPI_Comm comm, void* buffer, int* size);
int detach_comm_buffer(const char* call, MPI_Comm comm, void* buffer, MPI_Count* size);
int detach_session_buffer(const char* call, MPI_Session session, void* buffer, int* size);
int detach_session_buffer(const char* call, MPI_Session session, void* buffer, MPI_Count* size);

Status buffer_flush(const char* call);
Status buffer_iflush(const char* call, MPI_Request* request);
Status comm_flush_buffer(const char* call, comm::Comm* comm);
Status comm_iflush_buffer(const char* call, comm::Comm* comm, MPI_Request* request);
struct Session;
Status session_flush_buffer(const char* call, Session* session);
Status session_iflush_buffer(const char* call, Session* session, MPI_Request* request);

}  // namespace fgmpi::mpi
