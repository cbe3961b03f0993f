// What the calls about buffers of buffered sends do.

#include "mpi/pt2pt/attached_buffers.h"

#include <cstring>

#include "mpi/binding.h"
#include "mpi/calls.h"
#include "mpi/life/session.h"

namespace fgmpi::mpi {
namespace {

pt2pt::RankBuffers* buffers_of_rank() {
  comm::RankState* rank = comm::rank_state();
  if (!rank->buffers) rank->buffers = new pt2pt::RankBuffers;
  return rank->buffers;
}

constexpr const char *kOfRank = "the MPI process", *kOfComm = "the communicator",
                     *kOfSession = "the session";

pt2pt::BufferPlace* own_place() {
  pt2pt::RankBuffers* buffers = comm::rank_state()->buffers;
  return buffers ? &buffers->own : nullptr;
}
pt2pt::BufferPlace* place_of(comm::Comm* comm) {
  return comm->extras ? &comm->extras->buffer : nullptr;
}

Status attach(pt2pt::BufferPlace* place, void* buffer, MPI_Count size) {
  return pt2pt::attach_buffer(buffers_of_rank(), place, buffer, size);
}

Status no_buffer(const char* of) {
  return error(MPI_ERR_BUFFER, "no buffer is attached to %s; allowed is one with a buffer", of);
}

/// Detaches a buffer. `of`: what has none, for the error; nullptr: no buffer is none of length 0.
template <class Size>
Status detach(const char* call, pt2pt::BufferPlace* place, const char* of, void* buffer,
              Size* size) {
  FGMPI_TRY(check_pointer(buffer, "buffer_addr"));
  FGMPI_TRY(check_pointer(size, "size"));
  if (of && !(place && place->attached)) return no_buffer(of);
  void* address = nullptr;
  int64_t bytes = 0;
  if (place) FGMPI_TRY(pt2pt::detach_buffer(place, &address, &bytes, call));
  std::memcpy(buffer, &address, sizeof address);
  *size = static_cast<Size>(bytes);
  if (*size != bytes) *size = static_cast<Size>(MPI_UNDEFINED);
  return {};
}

template <class Size>
int detach_own(const char* call, void* buffer, Size* size) {
  comm::RankState* rank = comm::rank_state();
  if (!rank) return bad_comm(call, MPI_COMM_SELF);
  return done(call, nullptr, detach(call, own_place(), nullptr, buffer, size));
}

template <class Size>
int detach_from_comm(const char* call, MPI_Comm comm, void* buffer, Size* size) {
  FGMPI_ENTER(call, c, comm);
  return done(call, c, detach(call, place_of(c), kOfComm, buffer, size));
}

template <class Size>
int detach_from_session(const char* call, MPI_Session session, void* buffer, Size* size) {
  Session* s = find_session(session);
  if (!s) return bad_session(call, session);
  return done(call, s, detach(call, &s->buffer, kOfSession, buffer, size));
}

Status flush(const char* call, pt2pt::BufferPlace* place, const char* of) {
  if (!place || !place->attached) return no_buffer(of);
  return pt2pt::flush_buffer(place, call);
}

Status iflush(const char* call, pt2pt::BufferPlace* place, const char* of, RefCount* comm,
              MPI_Request* request) {
  if (!place || !place->attached) return no_buffer(of);
  FGMPI_TRY(pt2pt::need_handle());
  // Others may have run, and a thread of the rank may have detached the buffer.
  if (!place->attached) return no_buffer(of);
  *request = pt2pt::handle_of(pt2pt::iflush_buffer(place->attached, call, comm));
  return {};
}

}  // namespace

pt2pt::AttachedBuffer* buffer_for(const comm::Comm* comm) {
  if (comm->extras && comm->extras->buffer.attached) return comm->extras->buffer.attached;
  if (comm->session) {
    Session* session = session_of_number(comm->session);
    if (session && session->buffer.attached) return session->buffer.attached;
  }
  const pt2pt::RankBuffers* buffers = comm::rank_state()->buffers;
  return buffers ? buffers->own.attached : nullptr;
}

pt2pt::AttachedBuffer* buffer_of_comm(const RefCount* comm) {
  return buffer_for(static_cast<const comm::Comm*>(comm));
}

// ---- Attaching ----------------------------------------------------------------------------------

Status buffer_attach(void* buffer, MPI_Count size) {
  return attach(&buffers_of_rank()->own, buffer, size);
}

Status comm_attach_buffer(comm::Comm* comm, void* buffer, MPI_Count size) {
  return attach(&comm::extras(comm).buffer, buffer, size);
}

Status session_attach_buffer(Session* session, void* buffer, MPI_Count size) {
  return attach(&session->buffer, buffer, size);
}

// ---- Detaching ----------------------------------------------------------------------------------

int detach_buffer(const char* call, void* buffer, int* size) {
  return detach_own(call, buffer, size);
}
int detach_buffer(const char* call, void* buffer, MPI_Count* size) {
  return detach_own(call, buffer, size);
}
int detach_comm_buffer(const char* call, MPI_Comm comm, void* buffer, int* size) {
  return detach_from_comm(call, comm, buffer, size);
}
int detach_comm_buffer(const char* call, MPI_Comm comm, void* buffer, MPI_Count* size) {
  return detach_from_comm(call, comm, buffer, size);
}
int detach_session_buffer(const char* call, MPI_Session session, void* buffer, int* size) {
  return detach_from_session(call, session, buffer, size);
}
int detach_session_buffer(const char* call, MPI_Session session, void* buffer, MPI_Count* size) {
  return detach_from_session(call, session, buffer, size);
}

// ---- Flushing -----------------------------------------------------------------------------------

Status buffer_flush(const char* call) { return flush(call, own_place(), kOfRank); }
Status buffer_iflush(const char* call, MPI_Request* request) {
  return iflush(call, own_place(), kOfRank, nullptr, request);
}
Status comm_flush_buffer(const char* call, comm::Comm* comm) {
  return flush(call, place_of(comm), kOfComm);
}
Status comm_iflush_buffer(const char* call, comm::Comm* comm, MPI_Request* request) {
  return iflush(call, place_of(comm), kOfComm, comm, request);
}
Status session_flush_buffer(const char* call, Session* session) {
  return flush(call, &session->buffer, kOfSession);
}
Status session_iflush_buffer(const char* call, Session* session, MPI_Request* request) {
  return iflush(call, &session->buffer, kOfSession, nullptr, request);
}

}  // namespace fgmpi::mpi
