// Sends of MPI-4.0 sections 3.4, 3.7 and 3.9, each with its large-count form.

#include "mpi/pt2pt_args.h"

using namespace fgmpi;
using namespace fgmpi::mpi;

namespace {

/// The general way, for all but the simplest sends.
int send_by_handle(const char* call, Mode mode, const void* buf, int64_t count,
                   MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) try {
  FGMPI_ENTER(call, c, comm);
  uint64_t bytes;
  if (mode != Mode::kBuffered && is_member(c, dest) && tag >= 0 &&
      plain_bytes(buf, count, datatype, &bytes) &&
      pt2pt::send_bytes_at_once(buf, bytes, c->peer(dest), {user_ctx(c), c->rank, tag}, mode))
    return MPI_SUCCESS;
  Buffer buffer;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer));
  FGMPI_RETURN_IF(call, c, check_send(c, dest, tag));
  if (dest == MPI_PROC_NULL) return MPI_SUCCESS;
  if (mode == Mode::kBuffered)
    return done(
        call, c,
        pt2pt::bsend(comm::rank_state()->bsend, buffer, c->peer(dest), c->rank, tag, user_ctx(c)));
  return done(call, c, pt2pt::send(buffer, c->peer(dest), c->rank, tag, user_ctx(c), mode, call));
}
FGMPI_CATCH_NO_MEMORY(call, comm)

/// The names of calls, to be template arguments.
struct Name {
  char text[16] = {};
  template <size_t n>
  constexpr Name(const char (&from)[n]) {
    for (size_t i = 0; i < n; ++i) text[i] = from[i];
  }
};

/// Has the arguments of the call itself, in their registers.
template <Name kCall, Mode kMode, class Count>
[[gnu::noinline]] int send_slowly(const void* buf, Count count, MPI_Datatype datatype, int dest,
                                  int tag, MPI_Comm comm) {
  return send_by_handle(kCall.text, kMode, buf, count, datatype, dest, tag, comm);
}

/// The whole of a send that is small, collocated and expected. Refuses everything else, and all
/// arguments that need a closer look.
template <class Count>
[[gnu::always_inline]] inline bool sent_at_once(const void* buf, Count count, MPI_Datatype datatype,
                                                int dest, int tag, MPI_Comm comm) {
  sched::maybe_force_switch();
  Comm* c = comm::find(comm);
  uint64_t bytes;
  uint32_t local;
  return c && is_member(c, dest) && tag >= 0 && few_bytes(buf, count, datatype, &bytes) &&
         g_av.is_mine(static_cast<uint32_t>(c->shared->peers().world_of(dest)), &local) &&
         pt2pt::send_to_first(buf, bytes, local, {user_ctx(c), c->rank, tag});
}

template <Name kCall, Mode kMode, class Count>
[[gnu::always_inline]] inline int send(const void* buf, Count count, MPI_Datatype datatype,
                                       int dest, int tag, MPI_Comm comm) {
  if (__builtin_expect(sent_at_once(buf, count, datatype, dest, tag, comm), 1)) return MPI_SUCCESS;
  return send_slowly<kCall, kMode>(buf, count, datatype, dest, tag, comm);
}

int isend_by_handle(const char* call, Mode mode, const void* buf, int64_t count,
                    MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request* request) try {
  FGMPI_ENTER(call, c, comm);
  uint64_t bytes;
  if (mode != Mode::kBuffered && is_member(c, dest) && tag >= 0 && request &&
      plain_bytes(buf, count, datatype, &bytes) &&
      pt2pt::send_bytes_at_once(buf, bytes, c->peer(dest), {user_ctx(c), c->rank, tag}, mode)) {
    *request = static_cast<MPI_Request>(pt2pt::kSentHandle);
    return MPI_SUCCESS;
  }
  Buffer buffer;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer));
  FGMPI_RETURN_IF(call, c, check_send(c, dest, tag));
  FGMPI_RETURN_IF(call, c, check_pointer(request, "request"));
  FGMPI_RETURN_IF(call, c, pt2pt::need_handle());
  Request* made = pt2pt::sent_request();
  if (dest == MPI_PROC_NULL) {
  } else if (mode == Mode::kBuffered) {
    FGMPI_RETURN_IF(
        call, c,
        pt2pt::bsend(comm::rank_state()->bsend, buffer, c->peer(dest), c->rank, tag, user_ctx(c)));
  } else {
    FGMPI_RETURN_IF(
        call, c,
        pt2pt::isend(buffer, c->peer(dest), c->rank, tag, user_ctx(c), mode, call, c, &made));
  }
  *request = pt2pt::handle_of(made);
  return MPI_SUCCESS;
}
FGMPI_CATCH_NO_MEMORY(call, comm)

template <Name kCall, Mode kMode, class Count>
[[gnu::noinline]] int isend_slowly(const void* buf, Count count, MPI_Datatype datatype, int dest,
                                   int tag, MPI_Comm comm, MPI_Request* request) {
  return isend_by_handle(kCall.text, kMode, buf, count, datatype, dest, tag, comm, request);
}

template <Name kCall, Mode kMode, class Count>
[[gnu::always_inline]] inline int isend(const void* buf, Count count, MPI_Datatype datatype,
                                        int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  if (__builtin_expect(request && sent_at_once(buf, count, datatype, dest, tag, comm), 1)) {
    *request = static_cast<MPI_Request>(pt2pt::kSentHandle);
    return MPI_SUCCESS;
  }
  return isend_slowly<kCall, kMode>(buf, count, datatype, dest, tag, comm, request);
}

int send_init(const char* call, Mode mode, const void* buf, int64_t count, MPI_Datatype datatype,
              int dest, int tag, MPI_Comm comm, MPI_Request* request) try {
  FGMPI_ENTER(call, c, comm);
  Buffer buffer;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer));
  FGMPI_RETURN_IF(call, c, check_send(c, dest, tag));
  FGMPI_RETURN_IF(call, c, check_pointer(request, "request"));
  FGMPI_RETURN_IF(call, c, pt2pt::need_handle());
  Request* made = nullptr;
  if (dest == MPI_PROC_NULL) {
    made = pt2pt::completed_request(MPI_ANY_SOURCE, MPI_ANY_TAG, call, c);
    made->persistent = true;
    made->active = false;
  } else if (mode == Mode::kBuffered) {
    FGMPI_RETURN_IF(call, c,
                    pt2pt::bsend_init(&comm::rank_state()->bsend, buffer, c->peer(dest), c->rank,
                                      tag, user_ctx(c), call, c, &made));
  } else {
    FGMPI_RETURN_IF(
        call, c,
        pt2pt::send_init(buffer, c->peer(dest), c->rank, tag, user_ctx(c), mode, call, c, &made));
  }
  *request = pt2pt::handle_of(made);
  return MPI_SUCCESS;
}
FGMPI_CATCH_NO_MEMORY(call, comm)

}  // namespace

FGMPI_EXPORT(MPI_Send);
int PMPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send<"MPI_Send", Mode::kStandard>(buf, count, datatype, dest, tag, comm);
}

FGMPI_EXPORT(MPI_Send_c);
int PMPI_Send_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm) {
  return send<"MPI_Send_c", Mode::kStandard>(buf, count, datatype, dest, tag, comm);
}

FGMPI_EXPORT(MPI_Ssend);
int PMPI_Ssend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm) {
  return send<"MPI_Ssend", Mode::kSynchronous>(buf, count, datatype, dest, tag, comm);
}

FGMPI_EXPORT(MPI_Ssend_c);
int PMPI_Ssend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm) {
  return send<"MPI_Ssend_c", Mode::kSynchronous>(buf, count, datatype, dest, tag, comm);
}

FGMPI_EXPORT(MPI_Rsend);
int PMPI_Rsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm) {
  return send<"MPI_Rsend", Mode::kReady>(buf, count, datatype, dest, tag, comm);
}

FGMPI_EXPORT(MPI_Rsend_c);
int PMPI_Rsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm) {
  return send<"MPI_Rsend_c", Mode::kReady>(buf, count, datatype, dest, tag, comm);
}

FGMPI_EXPORT(MPI_Bsend);
int PMPI_Bsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm) {
  return send_by_handle("MPI_Bsend", Mode::kBuffered, buf, count, datatype, dest, tag, comm);
}

FGMPI_EXPORT(MPI_Bsend_c);
int PMPI_Bsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm) {
  return send_by_handle("MPI_Bsend_c", Mode::kBuffered, buf, count, datatype, dest, tag, comm);
}

FGMPI_EXPORT(MPI_Isend);
int PMPI_Isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return isend<"MPI_Isend", Mode::kStandard>(buf, count, datatype, dest, tag, comm, request);
}

FGMPI_EXPORT(MPI_Isend_c);
int PMPI_Isend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm, MPI_Request* request) {
  return isend<"MPI_Isend_c", Mode::kStandard>(buf, count, datatype, dest, tag, comm, request);
}

FGMPI_EXPORT(MPI_Issend);
int PMPI_Issend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request* request) {
  return isend<"MPI_Issend", Mode::kSynchronous>(buf, count, datatype, dest, tag, comm, request);
}

FGMPI_EXPORT(MPI_Issend_c);
int PMPI_Issend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request) {
  return isend<"MPI_Issend_c", Mode::kSynchronous>(buf, count, datatype, dest, tag, comm, request);
}

FGMPI_EXPORT(MPI_Irsend);
int PMPI_Irsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request* request) {
  return isend<"MPI_Irsend", Mode::kReady>(buf, count, datatype, dest, tag, comm, request);
}

FGMPI_EXPORT(MPI_Irsend_c);
int PMPI_Irsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request) {
  return isend<"MPI_Irsend_c", Mode::kReady>(buf, count, datatype, dest, tag, comm, request);
}

FGMPI_EXPORT(MPI_Ibsend);
int PMPI_Ibsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request* request) {
  return isend_by_handle("MPI_Ibsend", Mode::kBuffered, buf, count, datatype, dest, tag, comm,
                         request);
}

FGMPI_EXPORT(MPI_Ibsend_c);
int PMPI_Ibsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request) {
  return isend_by_handle("MPI_Ibsend_c", Mode::kBuffered, buf, count, datatype, dest, tag, comm,
                         request);
}

FGMPI_EXPORT(MPI_Send_init);
int PMPI_Send_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Request* request) {
  return send_init("MPI_Send_init", Mode::kStandard, buf, count, datatype, dest, tag, comm,
                   request);
}

FGMPI_EXPORT(MPI_Send_init_c);
int PMPI_Send_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                     MPI_Comm comm, MPI_Request* request) {
  return send_init("MPI_Send_init_c", Mode::kStandard, buf, count, datatype, dest, tag, comm,
                   request);
}

FGMPI_EXPORT(MPI_Ssend_init);
int PMPI_Ssend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm, MPI_Request* request) {
  return send_init("MPI_Ssend_init", Mode::kSynchronous, buf, count, datatype, dest, tag, comm,
                   request);
}

FGMPI_EXPORT(MPI_Ssend_init_c);
int PMPI_Ssend_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPI_Request* request) {
  return send_init("MPI_Ssend_init_c", Mode::kSynchronous, buf, count, datatype, dest, tag, comm,
                   request);
}

FGMPI_EXPORT(MPI_Rsend_init);
int PMPI_Rsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm, MPI_Request* request) {
  return send_init("MPI_Rsend_init", Mode::kReady, buf, count, datatype, dest, tag, comm, request);
}

FGMPI_EXPORT(MPI_Rsend_init_c);
int PMPI_Rsend_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPI_Request* request) {
  return send_init("MPI_Rsend_init_c", Mode::kReady, buf, count, datatype, dest, tag, comm,
                   request);
}

FGMPI_EXPORT(MPI_Bsend_init);
int PMPI_Bsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm, MPI_Request* request) {
  return send_init("MPI_Bsend_init", Mode::kBuffered, buf, count, datatype, dest, tag, comm,
                   request);
}

FGMPI_EXPORT(MPI_Bsend_init_c);
int PMPI_Bsend_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPI_Request* request) {
  return send_init("MPI_Bsend_init_c", Mode::kBuffered, buf, count, datatype, dest, tag, comm,
                   request);
}
