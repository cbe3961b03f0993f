// Receives, and sends and receives in one, each with its large-count form.

#include "mpi/pt2pt_args.h"

using namespace fgmpi;
using namespace fgmpi::mpi;

namespace {

inline int received(const char* call, Comm* c, Outcome* outcome, MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) set_status(status, *outcome);
  return __builtin_expect(outcome->error.ok(), 1) ? MPI_SUCCESS : fail(call, c, outcome->error);
}

[[gnu::noinline]] int recv_slowly(const char* call, void* buf, int64_t count, MPI_Datatype datatype,
                                  int source, int tag, Comm* c, MPI_Status* status) {
  Buffer buffer;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer));
  FGMPI_RETURN_IF(call, c, check_recv(c, source, tag));
  Outcome outcome = no_process_outcome();
  if (source != MPI_PROC_NULL)
    outcome.error = pt2pt::recv(buffer, my_endpoint(), source, tag, user_ctx(c), call, &outcome);
  return received(call, c, &outcome, status);
}

[[gnu::always_inline]] inline int recv(const char* call, void* buf, int64_t count,
                                       MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                                       MPI_Status* status) {
  FGMPI_ENTER(call, c, comm);
  uint64_t bytes;
  bool plain = is_member(c, source) || source == MPI_ANY_SOURCE;
  if (__builtin_expect(!plain || tag < MPI_ANY_TAG || buf == nullptr ||
                           !plain_bytes(buf, count, datatype, &bytes),
                       0))
    return recv_slowly(call, buf, count, datatype, source, tag, c, status);
  Outcome outcome;
  pt2pt::recv_bytes(buf, bytes, my_endpoint(), {user_ctx(c), source, tag}, call, &outcome);
  return received(call, c, &outcome, status);
}

int irecv_slowly(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int source,
                 int tag, MPI_Comm comm, MPI_Request* request, bool init) try {
  FGMPI_ENTER(call, c, comm);
  Buffer buffer;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer));
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
  return MPI_SUCCESS;
}
FGMPI_CATCH_NO_MEMORY(call, comm)

[[gnu::always_inline]] inline int irecv(const char* call, void* buf, int64_t count,
                                        MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                                        MPI_Request* request) {
  Comm* c = comm::find(comm);
  uint64_t bytes;
  if (__builtin_expect(!c || (!is_member(c, source) && source != MPI_ANY_SOURCE) ||
                           tag < MPI_ANY_TAG || !buf || !request ||
                           !plain_bytes(buf, count, datatype, &bytes) ||
                           !pt2pt::fast::has_free_handle(),
                       0))
    return irecv_slowly(call, buf, count, datatype, source, tag, comm, request, false);
  sched::maybe_force_switch();
  try {
    const Request* made =
        pt2pt::irecv_bytes(buf, bytes, my_endpoint(), {user_ctx(c), source, tag}, call, c);
    *request = static_cast<MPI_Request>(made->handle);
  } catch (const std::bad_alloc&) {
    return no_memory(call, comm);
  }
  return MPI_SUCCESS;
}

/// In place of the status of the blocking forms: not a status, so that a null request can be told
/// from none.
MPI_Status* const kNonblocking = reinterpret_cast<MPI_Status*>(2);

/// Checks both sides of MPI_Sendrecv and its like.
Status make_exchange(Comm* c, int dest, int sendtag, int source, int recvtag, pt2pt::Exchange* x) {
  FGMPI_TRY(check_rank(c, dest, "dest", false));
  FGMPI_TRY(check_tag(sendtag, false));
  FGMPI_TRY(check_recv(c, source, recvtag));
  if (dest != MPI_PROC_NULL) x->to = c->peer(dest);
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
    *request = pt2pt::handle_of(made);
    return MPI_SUCCESS;
  }
  Outcome outcome;
  Status done = pt2pt::sendrecv(x, call, &outcome);
  set_status(status, outcome);
  return __builtin_expect(done.ok(), 1) ? MPI_SUCCESS : fail(call, c, done);
}
FGMPI_CATCH_NO_MEMORY(call, c->handle)

int sendrecv(const char* call, const void* sendbuf, int64_t sendcount, MPI_Datatype sendtype,
             int dest, int sendtag, void* recvbuf, int64_t recvcount, MPI_Datatype recvtype,
             int source, int recvtag, MPI_Comm comm, MPI_Status* status, MPI_Request* request) {
  FGMPI_ENTER(call, c, comm);
  if (status == kNonblocking) FGMPI_RETURN_IF(call, c, check_pointer(request, "request"));
  pt2pt::Exchange x;
  FGMPI_RETURN_IF(call, c, make_buffer(sendbuf, sendcount, sendtype, &x.send));
  FGMPI_RETURN_IF(call, c, make_buffer(recvbuf, recvcount, recvtype, &x.recv));
  FGMPI_RETURN_IF(call, c, make_exchange(c, dest, sendtag, source, recvtag, &x));
  return exchange(call, c, x, status, request);
}

int sendrecv_replace(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int dest,
                     int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Status* status,
                     MPI_Request* request) {
  FGMPI_ENTER(call, c, comm);
  if (status == kNonblocking) FGMPI_RETURN_IF(call, c, check_pointer(request, "request"));
  pt2pt::Exchange x;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &x.send));
  FGMPI_RETURN_IF(call, c, make_exchange(c, dest, sendtag, source, recvtag, &x));
  x.recv = x.send;
  x.replace = true;
  return exchange(call, c, x, status, request);
}

}  // namespace

FGMPI_EXPORT(MPI_Recv);
int PMPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Status* status) {
  return recv("MPI_Recv", buf, count, datatype, source, tag, comm, status);
}

FGMPI_EXPORT(MPI_Recv_c);
int PMPI_Recv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                MPI_Comm comm, MPI_Status* status) {
  return recv("MPI_Recv_c", buf, count, datatype, source, tag, comm, status);
}

FGMPI_EXPORT(MPI_Irecv);
int PMPI_Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return irecv("MPI_Irecv", buf, count, datatype, source, tag, comm, request);
}

FGMPI_EXPORT(MPI_Irecv_c);
int PMPI_Irecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                 MPI_Comm comm, MPI_Request* request) {
  return irecv("MPI_Irecv_c", buf, count, datatype, source, tag, comm, request);
}

FGMPI_EXPORT(MPI_Recv_init);
int PMPI_Recv_init(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return irecv_slowly("MPI_Recv_init", buf, count, datatype, source, tag, comm, request, true);
}

FGMPI_EXPORT(MPI_Recv_init_c);
int PMPI_Recv_init_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                     MPI_Comm comm, MPI_Request* request) {
  return irecv_slowly("MPI_Recv_init_c", buf, count, datatype, source, tag, comm, request, true);
}

FGMPI_EXPORT(MPI_Sendrecv);
int PMPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                  void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                  MPI_Comm comm, MPI_Status* status) {
  return sendrecv("MPI_Sendrecv", sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                  recvtype, source, recvtag, comm, status, nullptr);
}

FGMPI_EXPORT(MPI_Sendrecv_c);
int PMPI_Sendrecv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                    int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                    int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  return sendrecv("MPI_Sendrecv_c", sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                  recvtype, source, recvtag, comm, status, nullptr);
}

FGMPI_EXPORT(MPI_Isendrecv);
int PMPI_Isendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                   void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                   MPI_Comm comm, MPI_Request* request) {
  return sendrecv("MPI_Isendrecv", sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                  recvtype, source, recvtag, comm, kNonblocking, request);
}

FGMPI_EXPORT(MPI_Isendrecv_c);
int PMPI_Isendrecv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                     int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                     int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
  return sendrecv("MPI_Isendrecv_c", sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                  recvcount, recvtype, source, recvtag, comm, kNonblocking, request);
}

FGMPI_EXPORT(MPI_Sendrecv_replace);
int PMPI_Sendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                          int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  return sendrecv_replace("MPI_Sendrecv_replace", buf, count, datatype, dest, sendtag, source,
                          recvtag, comm, status, nullptr);
}

FGMPI_EXPORT(MPI_Sendrecv_replace_c);
int PMPI_Sendrecv_replace_c(void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                            int sendtag, int source, int recvtag, MPI_Comm comm,
                            MPI_Status* status) {
  return sendrecv_replace("MPI_Sendrecv_replace_c", buf, count, datatype, dest, sendtag, source,
                          recvtag, comm, status, nullptr);
}

FGMPI_EXPORT(MPI_Isendrecv_replace);
int PMPI_Isendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                           int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
  return sendrecv_replace("MPI_Isendrecv_replace", buf, count, datatype, dest, sendtag, source,
                          recvtag, comm, kNonblocking, request);
}

FGMPI_EXPORT(MPI_Isendrecv_replace_c);
int PMPI_Isendrecv_replace_c(void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                             int sendtag, int source, int recvtag, MPI_Comm comm,
                             MPI_Request* request) {
  return sendrecv_replace("MPI_Isendrecv_replace_c", buf, count, datatype, dest, sendtag, source,
                          recvtag, comm, kNonblocking, request);
}
