// Receives, and sends and receives in one, beside the fast paths of pt2pt_calls.h.

#include "mpi/pt2pt/pt2pt_calls.h"
#include "mpi/tools/events.h"
#include "survivors/survivors.h"

namespace fgmpi::mpi {

int recv_checked(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int source,
                 int tag, Comm* c, MPI_Status* status) {
  const DerivedData data = derived_data(buf, count, datatype);
  if (data.type && (is_member(c, source) || source == MPI_ANY_SOURCE) && tag >= MPI_ANY_TAG) {
    const pt2pt::Envelope pattern{user_ctx(c), source, tag};
    Outcome outcome;
    if (data.type->contiguous)
      pt2pt::recv_bytes(data.first_byte(buf), data.bytes, my_endpoint(), pattern, call, &outcome);
    else
      pt2pt::recv_layout({buf, count, {datatype, data.type}}, data.bytes, my_endpoint(), pattern,
                         call, &outcome);
    return received(call, c, &outcome, status);
  }
  Buffer buffer;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer, true, call));
  FGMPI_RETURN_IF(call, c, check_recv(c, source, tag));
  Outcome outcome = no_process_outcome();
  if (source != MPI_PROC_NULL)
    outcome.error = pt2pt::recv(buffer, my_endpoint(), source, tag, user_ctx(c), call, &outcome);
  return received(call, c, &outcome, status);
}

namespace {
/// A receive in the general way, whose outcome is an event.
int recv_watched(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int source,
                 int tag, Comm* c, MPI_Status* status) {
  Buffer buffer;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer, true, call));
  FGMPI_RETURN_IF(call, c, check_recv(c, source, tag));
  Outcome outcome = no_process_outcome();
  if (source != MPI_PROC_NULL) {
    outcome.error = pt2pt::recv(buffer, my_endpoint(), source, tag, user_ctx(c), call, &outcome);
    events::raise_received(c, outcome);
  }
  return received(call, c, &outcome, status);
}
}  // namespace

int recv_unlisted(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int source,
                  int tag, MPI_Comm comm, MPI_Status* status) {
  auto receive = [=] {
    sched::maybe_force_switch();
    Comm* c = comm::find_inside(comm);
    if (__builtin_expect(!c, 0)) return bad_comm(call, comm);
    if (survivors::troubled() && check_recv(c, source, tag).ok())
      FGMPI_RETURN_IF(call, c, survivors::check_receive(c, source, tag));
    if (!events::wanted(events::kReceived))
      return recv_from(call, buf, count, datatype, source, tag, c, status);
    return recv_watched(call, buf, count, datatype, source, tag, c, status);
  };
  return sched::outside() ? run_inside_here(call, receive) : receive();
}

int recv_entered(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int source,
                 int tag, MPI_Comm comm, MPI_Status* status) {
  const LeaveAtEnd leave;
  return recv_unlisted(call, buf, count, datatype, source, tag, comm, status);
}

int recv_after_loan(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int source,
                    int tag, MPI_Comm comm, MPI_Status* status) {
  sched::EngineEntry::end_loan();
  return recv_unlisted(call, buf, count, datatype, source, tag, comm, status);
}

int irecv_checked(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int source,
                  int tag, MPI_Comm comm, MPI_Request* request, bool init) try {
  FGMPI_ENTER_FAST(call, c, comm,
                   irecv_checked(call, buf, count, datatype, source, tag, comm, request, init));
  sched::count_call();
  Buffer buffer;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer, true, call));
  FGMPI_RETURN_IF(call, c, check_recv(c, source, tag));
  FGMPI_RETURN_IF(call, c, check_pointer(request, "request"));
  FGMPI_RETURN_IF(call, c, pt2pt::need_handle());
  Request* made = nullptr;
  if (source == MPI_PROC_NULL) {
    made = pt2pt::completed_request(MPI_PROC_NULL, MPI_ANY_TAG, call, c);
    made->persistent = init;
    made->active = !init;
  } else {
    FGMPI_RETURN_IF(call, c,
                    (init ? pt2pt::recv_init : pt2pt::irecv)(buffer, my_endpoint(), source, tag,
                                                             user_ctx(c), call, c, &made));
  }
  *request = pt2pt::handle_of(made);
  if (!init) examine_posted();
  return MPI_SUCCESS;
}
FGMPI_CATCH_NO_MEMORY(call, comm)

int irecv_unlisted(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int source,
                   int tag, MPI_Comm comm, MPI_Request* request) {
  auto receive = [=] {
    Comm* c = comm::find_inside(comm);
    if (__builtin_expect(!c, 0)) return bad_comm(call, comm);
    if (survivors::troubled()) FGMPI_RETURN_IF(call, c, survivors::check_usable(c));
    const int code = irecv_from(call, buf, count, datatype, source, tag, comm, c, request);
    if (code == MPI_SUCCESS)
      if (Request* made = pt2pt::fast::find_request(*request); made && !made->immortal)
        events::watch(made, events::kReceived);
    examine_posted();
    return code;
  };
  if (sched::EngineEntry::may_borrow()) {
    if (!sched::EngineEntry::borrow()) {
      sched::EngineEntry::end_loan();
      return run_inside(call, receive);
    }
    Comm* c = listed_inside(comm);
    if (c) sched::record_call(call);
    return give_back_with(c ? irecv_from(call, buf, count, datatype, source, tag, comm, c, request)
                            : receive());
  }
  return sched::outside() ? run_inside_here(call, receive) : receive();
}

namespace {

/// Checks both sides of MPI_Sendrecv and its like.
Status make_exchange(Comm* c, int dest, int sendtag, int source, int recvtag, pt2pt::Exchange* x) {
  FGMPI_TRY(check_rank(c, dest, "dest", false));
  FGMPI_TRY(check_tag(sendtag, false));
  FGMPI_TRY(check_recv(c, source, recvtag));
  if (survivors::troubled()) FGMPI_TRY(survivors::check_usable(c));
  if (dest != MPI_PROC_NULL) x->to = c->destination(dest);
  x->source_rank = c->rank;
  x->send_tag = sendtag;
  x->at = my_endpoint();
  x->source = source;
  x->recv_tag = recvtag;
  x->ctx = user_ctx(c);
  return {};
}

int exchange(const char* call, Comm* c, pt2pt::Exchange& x, MPI_Status* status,
             MPI_Request* request) try {
  if (status == kNonblocking) {
    Request* made = nullptr;
    FGMPI_RETURN_IF(call, c, pt2pt::need_handle());
    FGMPI_RETURN_IF(call, c, pt2pt::isendrecv(x, call, c, &made));
    if (!made->immortal) events::watch(made, events::kReceived);
    examine_posted();
    *request = pt2pt::handle_of(made);
    return MPI_SUCCESS;
  }
  if (survivors::troubled())
    FGMPI_RETURN_IF(call, c, survivors::check_receive(c, x.source, x.recv_tag));
  Outcome outcome;
  Status done = pt2pt::sendrecv(x, call, &outcome);
  if (done.ok() && x.source != MPI_PROC_NULL) events::raise_received(c, outcome);
  set_status(status, outcome);
  return __builtin_expect(done.ok(), 1) ? MPI_SUCCESS : fail(call, c, done);
}
FGMPI_CATCH_NO_MEMORY(call, c->handle)

}  // namespace

int sendrecv(const char* call, const void* sendbuf, int64_t sendcount, MPI_Datatype sendtype,
             int dest, int sendtag, void* recvbuf, int64_t recvcount, MPI_Datatype recvtype,
             int source, int recvtag, MPI_Comm comm, MPI_Status* status, MPI_Request* request) {
  FGMPI_ENTER(call, c, comm);
  if (status == kNonblocking) FGMPI_RETURN_IF(call, c, check_pointer(request, "request"));
  pt2pt::Exchange x;
  FGMPI_RETURN_IF(call, c, make_buffer(sendbuf, sendcount, sendtype, &x.send, false, call));
  FGMPI_RETURN_IF(call, c, make_buffer(recvbuf, recvcount, recvtype, &x.recv, true, call));
  FGMPI_RETURN_IF(call, c, make_exchange(c, dest, sendtag, source, recvtag, &x));
  events::raise_send_begun(c, dest, sendtag, sendcount, sendtype);
  return exchange(call, c, x, status, request);
}

int sendrecv_replace(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int dest,
                     int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Status* status,
                     MPI_Request* request) {
  FGMPI_ENTER(call, c, comm);
  if (status == kNonblocking) FGMPI_RETURN_IF(call, c, check_pointer(request, "request"));
  pt2pt::Exchange x;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &x.send, true, call));
  FGMPI_RETURN_IF(call, c, make_exchange(c, dest, sendtag, source, recvtag, &x));
  x.recv = x.send;
  x.replace = true;
  events::raise_send_begun(c, dest, sendtag, count, datatype);
  return exchange(call, c, x, status, request);
}

}  // namespace fgmpi::mpi
