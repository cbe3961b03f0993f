// Sends of MPI-4.0 sections 3.4, 3.7 and 3.9, beside the fast paths of pt2pt_calls.h.

#include "mpi/pt2pt/attached_buffers.h"
#include "mpi/pt2pt/pt2pt_calls.h"
#include "mpi/tools/events.h"
#include "pt2pt/message_decider.h"
#include "survivors/survivors.h"

namespace fgmpi::mpi {

int end_turn() {
  sched::let_others_run();
  return MPI_SUCCESS;
}

int end_direct_by_call(pt2pt::RecvOp* op) {
  pt2pt::complete_op(op);
  return sched::is_last_of_turn() ? end_turn() : MPI_SUCCESS;
}

namespace {

/// Out of line, so that the shorter ways need not save what this one uses.
[[gnu::noinline]] bool send_layout_at_once(const DerivedData& data, const void* buf, int64_t count,
                                           pt2pt::Peer to, const pt2pt::Envelope& envelope,
                                           SendMode mode) {
  const Buffer buffer{const_cast<void*>(buf), count, {MPI_DATATYPE_NULL, data.type}};
  return pt2pt::send_buffer_at_once(buffer, to, envelope, mode);
}

/// What is left of "at once" while a prediction keeps g_basic_types empty.
[[gnu::noinline]] bool send_by_decider(SendMode mode, const void* buf, int64_t count,
                                       MPI_Datatype datatype, pt2pt::Peer to,
                                       const pt2pt::Envelope& envelope) {
  uint64_t bytes;
  return pt2pt::g_message_decider && plain_bytes(buf, count, datatype, &bytes, g_received_types) &&
         pt2pt::send_bytes_by_decider(buf, bytes, to, envelope, mode);
}

/// Returns false, with nothing done, for arguments that need other checks, and for messages of the
/// next tier.
[[gnu::always_inline]] inline bool send_at_once(SendMode mode, const void* buf, int64_t count,
                                                MPI_Datatype datatype, int dest, int tag, Comm* c) {
  if (mode == SendMode::kBuffered || !is_member(c, dest) || tag < 0) return false;
  const pt2pt::Envelope envelope{user_ctx(c), c->rank, tag};
  uint64_t bytes;
  if (plain_bytes(buf, count, datatype, &bytes))
    return pt2pt::send_bytes_at_once(buf, bytes, c->destination(dest), envelope, mode);
  const DerivedData data = derived_data(buf, count, datatype);
  if (!data.type)
    return send_by_decider(mode, buf, count, datatype, c->destination(dest), envelope);
  if (data.is_row())
    return pt2pt::send_bytes_at_once(buf, data.bytes, c->destination(dest), envelope, mode);
  if (data.is_short())
    return pt2pt::send_short_at_once({data.type, buf, count}, c->destination(dest), envelope, mode);
  return send_layout_at_once(data, buf, count, c->destination(dest), envelope, mode);
}

}  // namespace

int send_listed(const void* buf, int64_t count, MPI_Datatype datatype, int dest, int tag, Comm* c,
                const SendCall* call) try {
  if (__builtin_expect(send_at_once(call->mode, buf, count, datatype, dest, tag, c), 1))
    return sched::is_last_of_turn() ? end_turn() : MPI_SUCCESS;
  return send_checked(call->name, call->mode, buf, count, datatype, dest, tag, c->handle);
}
FGMPI_CATCH_NO_MEMORY(call->name, c->handle)

int isend_listed(const void* buf, int64_t count, MPI_Datatype datatype, int dest, int tag, Comm* c,
                 const SendCall* call, MPI_Request* request) try {
  if (__builtin_expect(request && send_at_once(call->mode, buf, count, datatype, dest, tag, c),
                       1)) {
    *request = static_cast<MPI_Request>(pt2pt::kSentHandle);
    return sched::is_last_of_turn() ? end_turn() : MPI_SUCCESS;
  }
  return isend_checked(call->name, call->mode, buf, count, datatype, dest, tag, c->handle, request);
}
FGMPI_CATCH_NO_MEMORY(call->name, c->handle)

int send_checked(const char* call, SendMode mode, const void* buf, int64_t count,
                 MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) try {
  FGMPI_ENTER_FAST(call, c, comm, send_checked(call, mode, buf, count, datatype, dest, tag, comm));
  sched::count_call();
  Buffer buffer;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer, false, call));
  FGMPI_RETURN_IF(call, c, check_send(c, dest, tag));
  if (dest == MPI_PROC_NULL) return MPI_SUCCESS;
  if (mode == SendMode::kBuffered)
    return done(
        call, c,
        pt2pt::bsend(buffer_for(c), buffer, c->destination(dest), c->rank, tag, user_ctx(c)));
  return done(call, c,
              pt2pt::send(buffer, c->destination(dest), c->rank, tag, user_ctx(c), mode, call));
}
FGMPI_CATCH_NO_MEMORY(call, comm)

namespace {
/// What a send by a caller inside of the library does first. Sets the communicator.
[[gnu::always_inline]] inline int begin_send_inside(const char* call, int64_t count,
                                                    MPI_Datatype datatype, int dest, int tag,
                                                    MPI_Comm comm, Comm** found) {
  sched::maybe_force_switch();
  sched::record_call(call);
  sched::count_call();
  Comm* c = *found = comm::find_inside(comm);
  if (__builtin_expect(!c, 0)) return bad_comm(call, comm);
  if (survivors::troubled()) FGMPI_RETURN_IF(call, c, survivors::check_usable(c));
  events::raise_send_begun(c, dest, tag, count, datatype);
  return MPI_SUCCESS;
}

/// A send by a caller that is inside of the library.
int send_inside(const char* call, SendMode mode, const void* buf, int64_t count,
                MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) try {
  Comm* c;
  if (const int error = begin_send_inside(call, count, datatype, dest, tag, comm, &c)) return error;
  if (send_at_once(mode, buf, count, datatype, dest, tag, c)) return MPI_SUCCESS;
  return send_checked(call, mode, buf, count, datatype, dest, tag, comm);
}
FGMPI_CATCH_NO_MEMORY(call, comm)

int isend_inside(const char* call, SendMode mode, const void* buf, int64_t count,
                 MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                 MPI_Request* request) try {
  Comm* c;
  if (const int error = begin_send_inside(call, count, datatype, dest, tag, comm, &c)) return error;
  if (request && send_at_once(mode, buf, count, datatype, dest, tag, c)) {
    *request = static_cast<MPI_Request>(pt2pt::kSentHandle);
    return MPI_SUCCESS;
  }
  return isend_checked(call, mode, buf, count, datatype, dest, tag, comm, request);
}
FGMPI_CATCH_NO_MEMORY(call, comm)
}  // namespace

int send_entered(const SendCall* call, const void* buf, int64_t count, MPI_Datatype datatype,
                 int dest, int tag, MPI_Comm comm) {
  const LeaveAtEnd leave;
  return send_inside(call->name, call->mode, buf, count, datatype, dest, tag, comm);
}

int isend_entered(const SendCall* call, const void* buf, int64_t count, MPI_Datatype datatype,
                  int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  const LeaveAtEnd leave;
  return isend_inside(call->name, call->mode, buf, count, datatype, dest, tag, comm, request);
}

int end_direct_entered(pt2pt::RecvOp* op) {
  const LeaveAtEnd leave;
  return end_direct_by_call(op);
}

int end_turn_entered() {
  const LeaveAtEnd leave;
  return end_turn();
}

int send_after_loan(const SendCall* call, const void* buf, int64_t count, MPI_Datatype datatype,
                    int dest, int tag, MPI_Comm comm) {
  sched::EngineEntry::end_loan();
  return send_unlisted(call->name, call->mode, buf, count, datatype, dest, tag, comm);
}

int isend_after_loan(const SendCall* call, const void* buf, int64_t count, MPI_Datatype datatype,
                     int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  sched::EngineEntry::end_loan();
  return isend_unlisted(call->name, call->mode, buf, count, datatype, dest, tag, comm, request);
}

int send_unlisted(const char* call, SendMode mode, const void* buf, int64_t count,
                  MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  const auto send = [=] { return send_inside(call, mode, buf, count, datatype, dest, tag, comm); };
  return sched::outside() ? run_inside_here(call, send) : send();
}

int isend_unlisted(const char* call, SendMode mode, const void* buf, int64_t count,
                   MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  const auto send = [=] {
    return isend_inside(call, mode, buf, count, datatype, dest, tag, comm, request);
  };
  return sched::outside() ? run_inside_here(call, send) : send();
}

int isend_checked(const char* call, SendMode mode, const void* buf, int64_t count,
                  MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                  MPI_Request* request) try {
  FGMPI_ENTER_FAST(call, c, comm,
                   isend_checked(call, mode, buf, count, datatype, dest, tag, comm, request));
  sched::count_call();
  Buffer buffer;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer, false, call));
  FGMPI_RETURN_IF(call, c, check_send(c, dest, tag));
  FGMPI_RETURN_IF(call, c, check_pointer(request, "request"));
  FGMPI_RETURN_IF(call, c, pt2pt::need_handle());
  Request* made = pt2pt::sent_request();
  if (dest == MPI_PROC_NULL) {
  } else if (mode == SendMode::kBuffered) {
    FGMPI_RETURN_IF(
        call, c,
        pt2pt::bsend(buffer_for(c), buffer, c->destination(dest), c->rank, tag, user_ctx(c)));
  } else {
    FGMPI_RETURN_IF(call, c,
                    pt2pt::isend(buffer, c->destination(dest), c->rank, tag, user_ctx(c), mode,
                                 call, c, &made));
  }
  *request = pt2pt::handle_of(made);
  return MPI_SUCCESS;
}
FGMPI_CATCH_NO_MEMORY(call, comm)

int send_init(const char* call, SendMode mode, const void* buf, int64_t count,
              MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request) try {
  FGMPI_ENTER(call, c, comm);
  Buffer buffer;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer, false, call));
  FGMPI_RETURN_IF(call, c, check_send(c, dest, tag));
  FGMPI_RETURN_IF(call, c, check_pointer(request, "request"));
  FGMPI_RETURN_IF(call, c, pt2pt::need_handle());
  Request* made = nullptr;
  if (dest == MPI_PROC_NULL) {
    made = pt2pt::completed_request(MPI_ANY_SOURCE, MPI_ANY_TAG, call, c);
    made->persistent = true;
    made->active = false;
  } else if (mode == SendMode::kBuffered) {
    FGMPI_RETURN_IF(call, c,
                    pt2pt::bsend_init(buffer_of_comm, buffer, c->destination(dest), c->rank, tag,
                                      user_ctx(c), call, c, &made));
  } else {
    FGMPI_RETURN_IF(call, c,
                    pt2pt::send_init(buffer, c->destination(dest), c->rank, tag, user_ctx(c), mode,
                                     call, c, &made));
  }
  *request = pt2pt::handle_of(made);
  return MPI_SUCCESS;
}
FGMPI_CATCH_NO_MEMORY(call, comm)

}  // namespace fgmpi::mpi
