// Sends, receives and their like as the rows of calls.table name them: the fast paths, in line so
// that a binding is nothing else, and the general functions.
//
// Each function receives the arguments of the call as they are, after its name, checks them, and
// returns the call's result. Thread rule: as src/mpi/entry.h says. Blocking calls may switch, the
// others never do.
#pragma once

#include "comm/inside_paths.h"
#include "mpi/pt2pt/pt2pt_args.h"

namespace fgmpi::mpi {

/// After the last call of a turn (call_count.h): lets others run. Returns MPI_SUCCESS.
int end_turn();

// The tiers of sends are drawn in pt2pt/send.cc. For a communicator that listed() finds, send()
// tries the first one and send_listed() the second one, "at once". send_unlisted() is for every
// other handle: it enters the library, finds the communicator, and begins with "at once". Both end
// in send_checked(), which checks all arguments and begins an operation where the message still
// needs one. call_send_listed() and call_send_unlisted() receive the arguments of the binding in
// their registers and add what is constant. The functions of receives are named alike.
int send_checked(const char* call, SendMode mode, const void* buf, int64_t count,
                 MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int isend_checked(const char* call, SendMode mode, const void* buf, int64_t count,
                  MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request);
/// For a handle that listed() does not find, because the caller is outside of the library or for
/// another reason.
int send_unlisted(const char* call, SendMode mode, const void* buf, int64_t count,
                  MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int isend_unlisted(const char* call, SendMode mode, const void* buf, int64_t count,
                   MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request);
int send_init(const char* call, SendMode mode, const void* buf, int64_t count,
              MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request);
int recv_checked(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int source,
                 int tag, Comm* c, MPI_Status* status);
/// `init`: MPI_Recv_init.
int irecv_checked(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int source,
                  int tag, MPI_Comm comm, MPI_Request* request, bool init);

/// Stands in place of the status of the blocking forms. Its value is no status, so that a null
/// request can be told from none.
inline MPI_Status* const kNonblocking = reinterpret_cast<MPI_Status*>(2);

int sendrecv(const char* call, const void* sendbuf, int64_t sendcount, MPI_Datatype sendtype,
             int dest, int sendtag, void* recvbuf, int64_t recvcount, MPI_Datatype recvtype,
             int source, int recvtag, MPI_Comm comm, MPI_Status* status, MPI_Request* request);
int sendrecv_replace(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int dest,
                     int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Status* status,
                     MPI_Request* request);
int mrecv(const char* call, void* buf, int64_t count, MPI_Datatype datatype, MPI_Message* handle,
          MPI_Status* status);
int imrecv(const char* call, void* buf, int64_t count, MPI_Datatype datatype, MPI_Message* handle,
           MPI_Request* request);

/// Read from a status, and write into one.
int get_count(const char* call, const MPI_Status* status, MPI_Datatype type, int* count);
int get_count(const char* call, const MPI_Status* status, MPI_Datatype type, MPI_Count* count);
int get_elements(const char* call, const MPI_Status* status, MPI_Datatype type, int* count);
int get_elements(const char* call, const MPI_Status* status, MPI_Datatype type, MPI_Count* count);
int set_elements(const char* call, MPI_Status* status, MPI_Datatype datatype, int64_t count);
/// Completion without collection: the requests stay as they are. All three may switch.
int request_get_status_all(const char* call, int count, const MPI_Request* requests, int* flag,
                           MPI_Status* statuses);
int request_get_status_any(const char* call, int count, const MPI_Request* requests, int* index,
                           int* flag, MPI_Status* status);
int request_get_status_some(const char* call, int count, const MPI_Request* requests, int* outcount,
                            int* indices, MPI_Status* statuses);

/// The communicator of MPI_COMM_WORLD's handle or of one in the first table; nullptr for other
/// handles, and for callers that are outside of the library.
[[gnu::always_inline]] inline Comm* listed_in(const comm::detail::FastHandles& handles,
                                              MPI_Comm handle) {
  if (__builtin_expect(handle == handles.world, 1)) {
    auto* rank = static_cast<comm::RankState*>(sched::detail::g_running_state);
    return __builtin_expect(rank != nullptr && !rank->world.freed, 1) ? &rank->world : nullptr;
  }
  Comm* found;
  return comm::detail::find_listed(handle, handles, &found) ? found : nullptr;
}
[[gnu::always_inline]] inline Comm* listed(MPI_Comm handle) {
  return listed_in(comm::detail::g_fast_handles, handle);
}
/// As listed(), for a caller that has entered the library: nullptr while every message is to be
/// examined (comm/inside_paths.h).
[[gnu::always_inline]] inline Comm* listed_inside(MPI_Comm handle) {
  return listed_in(comm::detail::g_inside_handles, handle);
}

/// A call's name, to be a template argument.
struct NameArgument {
  char text[16] = {};
  template <size_t n>
  constexpr NameArgument(const char (&from)[n]) {
    for (size_t i = 0; i < n; ++i) text[i] = from[i];
  }
};

/// The tier "direct". Returns the receive, for end_direct(), or nullptr for every message of
/// another tier, for all arguments that need the general checks, where the ranks of the
/// communicator are not consecutive ranks of the world, and in jobs whose ranks move.
template <class Count>
[[gnu::always_inline]] inline pt2pt::RecvOp* send_direct(const void* buf, Count count,
                                                         MPI_Datatype datatype, int dest, int tag,
                                                         Comm* c) {
  const comm::SharedComm* shared = c->shared;
  uint64_t bytes;
  if (static_cast<uint32_t>(dest) >= shared->shortcuts.offset_ranks || tag < 0 ||
      !few_bytes(buf, count, datatype, &bytes))
    return nullptr;
  const uint32_t local = static_cast<uint32_t>(dest) + shared->shortcuts.first_local;
  if (local >= g_av.direct_count()) return nullptr;
  return pt2pt::send_bytes_direct(buf, bytes, local, {user_ctx(c), c->rank, tag});
}

/// Ends the receive that send_direct() has returned in the general way, and the call.
int end_direct_by_call(pt2pt::RecvOp* op);

/// Ends the receive that send_direct() has returned, and the call. May switch.
[[gnu::always_inline]] inline int end_direct(pt2pt::RecvOp* op) {
  if (__builtin_expect(!pt2pt::wake_receiver(op), 0)) return end_direct_by_call(op);
  return sched::is_last_of_turn() ? end_turn() : MPI_SUCCESS;
}

/// What a binding of a send is: it lies in read-only memory, and a register holds its address.
struct SendCall {
  const char* name;
  SendMode mode;
};
template <NameArgument kCall, SendMode kMode>
inline constexpr SendCall kSendCall{kCall.text, kMode};

/// The tier "at once" (pt2pt/send.cc) for the arguments that programs usually have; send_checked()
/// for all others.
int send_listed(const void* buf, int64_t count, MPI_Datatype datatype, int dest, int tag, Comm* c,
                const SendCall* call);
int isend_listed(const void* buf, int64_t count, MPI_Datatype datatype, int dest, int tag, Comm* c,
                 const SendCall* call, MPI_Request* request);

/// Receives the arguments of the call itself, in their registers.
template <NameArgument kCall, SendMode kMode, class Count>
[[gnu::noinline]] int call_send_listed(const void* buf, Count count, MPI_Datatype datatype,
                                       int dest, int tag, Comm* c) {
  return send_listed(buf, count, datatype, dest, tag, c, &kSendCall<kCall, kMode>);
}

/// Continue a call that has entered the library by a loan, and leave it: a send in the general way;
/// the end of a receive that send_direct() has returned and wake_receiver() has not woken; the end
/// of a turn.
int send_entered(const SendCall* call, const void* buf, int64_t count, MPI_Datatype datatype,
                 int dest, int tag, MPI_Comm comm);
int isend_entered(const SendCall* call, const void* buf, int64_t count, MPI_Datatype datatype,
                  int dest, int tag, MPI_Comm comm, MPI_Request* request);
int end_direct_entered(pt2pt::RecvOp* op);
/// Begin a call anew whose EngineEntry::borrow() has failed.
int send_after_loan(const SendCall* call, const void* buf, int64_t count, MPI_Datatype datatype,
                    int dest, int tag, MPI_Comm comm);
int isend_after_loan(const SendCall* call, const void* buf, int64_t count, MPI_Datatype datatype,
                     int dest, int tag, MPI_Comm comm, MPI_Request* request);
int end_turn_entered();

/// Ends the receive that send_direct() has returned, and a call that has entered by a loan.
[[gnu::always_inline]] inline int end_direct_and_leave(pt2pt::RecvOp* op) {
  if (__builtin_expect(!pt2pt::wake_receiver(op), 0)) return end_direct_entered(op);
  if (sched::is_last_of_turn()) return end_turn_entered();
  return give_back_loan_with(MPI_SUCCESS);
}

/// As call_send_listed(), for a communicator that is not listed. While one thread of the process
/// uses MPI at MPI_THREAD_MULTIPLE, this is the common way.
template <NameArgument kCall, SendMode kMode, class Count>
[[gnu::noinline]] int call_send_unlisted(const void* buf, Count count, MPI_Datatype datatype,
                                         int dest, int tag, MPI_Comm comm) {
  if (__builtin_expect(!sched::EngineEntry::may_borrow(), 0))
    return send_unlisted(kCall.text, kMode, buf, count, datatype, dest, tag, comm);
  if (__builtin_expect(!sched::EngineEntry::borrow(), 0))
    return send_after_loan(&kSendCall<kCall, kMode>, buf, count, datatype, dest, tag, comm);
  if (Comm* c = listed_inside(comm)) {
    sched::record_call(kCall.text);
    if (pt2pt::RecvOp* op = send_direct(buf, count, datatype, dest, tag, c))
      return end_direct_and_leave(op);
  }
  return send_entered(&kSendCall<kCall, kMode>, buf, count, datatype, dest, tag, comm);
}

template <NameArgument kCall, SendMode kMode, class Count>
[[gnu::always_inline]] inline int send(const void* buf, Count count, MPI_Datatype datatype,
                                       int dest, int tag, MPI_Comm comm) {
  sched::maybe_force_switch();
  Comm* c = listed(comm);
  if (__builtin_expect(!c, 0))
    return call_send_unlisted<kCall, kMode>(buf, count, datatype, dest, tag, comm);
  sched::record_call(kCall.text);
  if (pt2pt::RecvOp* op = send_direct(buf, count, datatype, dest, tag, c)) return end_direct(op);
  return call_send_listed<kCall, kMode>(buf, count, datatype, dest, tag, c);
}

template <NameArgument kCall, SendMode kMode, class Count>
[[gnu::noinline]] int call_isend_listed(const void* buf, Count count, MPI_Datatype datatype,
                                        int dest, int tag, Comm* c, MPI_Request* request) {
  return isend_listed(buf, count, datatype, dest, tag, c, &kSendCall<kCall, kMode>, request);
}

/// As call_send_unlisted().
template <NameArgument kCall, SendMode kMode, class Count>
[[gnu::noinline]] int call_isend_unlisted(const void* buf, Count count, MPI_Datatype datatype,
                                          int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  if (__builtin_expect(!sched::EngineEntry::may_borrow(), 0))
    return isend_unlisted(kCall.text, kMode, buf, count, datatype, dest, tag, comm, request);
  if (__builtin_expect(!sched::EngineEntry::borrow(), 0))
    return isend_after_loan(&kSendCall<kCall, kMode>, buf, count, datatype, dest, tag, comm,
                            request);
  Comm* c = listed_inside(comm);
  if (__builtin_expect(c && request, 1)) {
    sched::record_call(kCall.text);
    if (pt2pt::RecvOp* op = send_direct(buf, count, datatype, dest, tag, c)) {
      *request = static_cast<MPI_Request>(pt2pt::kSentHandle);
      return end_direct_and_leave(op);
    }
  }
  return isend_entered(&kSendCall<kCall, kMode>, buf, count, datatype, dest, tag, comm, request);
}

template <NameArgument kCall, SendMode kMode, class Count>
[[gnu::always_inline]] inline int isend(const void* buf, Count count, MPI_Datatype datatype,
                                        int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  sched::maybe_force_switch();
  Comm* c = listed(comm);
  if (__builtin_expect(!c, 0))
    return call_isend_unlisted<kCall, kMode>(buf, count, datatype, dest, tag, comm, request);
  sched::record_call(kCall.text);
  if (__builtin_expect(request != nullptr, 1)) {
    if (pt2pt::RecvOp* op = send_direct(buf, count, datatype, dest, tag, c)) {
      *request = static_cast<MPI_Request>(pt2pt::kSentHandle);
      return end_direct(op);
    }
  }
  return call_isend_listed<kCall, kMode>(buf, count, datatype, dest, tag, c, request);
}

inline int received(const char* call, Comm* c, Outcome* outcome, MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) set_status(status, *outcome);
  return __builtin_expect(outcome->error.ok(), 1) ? MPI_SUCCESS : fail(call, c, outcome->error);
}

/// A receive by a communicator that has been found.
[[gnu::always_inline]] inline int recv_from(const char* call, void* buf, int64_t count,
                                            MPI_Datatype datatype, int source, int tag, Comm* c,
                                            MPI_Status* status) {
  uint64_t bytes;
  bool plain =
      static_cast<uint32_t>(source) < c->shared->shortcuts.ranks || source == MPI_ANY_SOURCE;
  if (__builtin_expect(!plain || tag < MPI_ANY_TAG || buf == nullptr ||
                           !plain_bytes(buf, count, datatype, &bytes, g_received_types),
                       0))
    return recv_checked(call, buf, count, datatype, source, tag, c, status);
  Outcome outcome;
  pt2pt::recv_bytes(buf, bytes, my_endpoint(), {user_ctx(c), source, tag}, call, &outcome);
  return received(call, c, &outcome, status);
}

/// For a handle that is not listed, as send_unlisted().
int recv_unlisted(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int source,
                  int tag, MPI_Comm comm, MPI_Status* status);
/// As send_entered() and send_after_loan().
int recv_entered(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int source,
                 int tag, MPI_Comm comm, MPI_Status* status);
int recv_after_loan(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int source,
                    int tag, MPI_Comm comm, MPI_Status* status);

/// As call_send_unlisted().
template <NameArgument kCall, class Count>
[[gnu::noinline]] int call_recv_unlisted(void* buf, Count count, MPI_Datatype datatype, int source,
                                         int tag, MPI_Comm comm, MPI_Status* status) {
  if (__builtin_expect(!sched::EngineEntry::may_borrow(), 0))
    return recv_unlisted(kCall.text, buf, count, datatype, source, tag, comm, status);
  if (__builtin_expect(!sched::EngineEntry::borrow(), 0))
    return recv_after_loan(kCall.text, buf, count, datatype, source, tag, comm, status);
  Comm* c = listed_inside(comm);
  if (__builtin_expect(!c, 0))
    return recv_entered(kCall.text, buf, count, datatype, source, tag, comm, status);
  sched::record_call(kCall.text);
  return give_back_with(recv_from(kCall.text, buf, count, datatype, source, tag, c, status));
}

#ifdef __clang__
#define FGMPI_KEEPS_ARGUMENTS gnu::noinline
#else
#define FGMPI_KEEPS_ARGUMENTS gnu::noinline, gnu::noipa
#endif
/// A receive whose arguments have been checked. All are in the registers in which the call had its
/// own; `unused` stands for the datatype, and the compiler must not take it away.
template <NameArgument kCall>
[[FGMPI_KEEPS_ARGUMENTS]] int call_recv_plain(void* buf, uint64_t bytes, MPI_Datatype unused,
                                              int source, int tag, Comm* c, MPI_Status* status) {
  (void)unused;
  Outcome outcome;
  pt2pt::recv_bytes(buf, bytes, my_endpoint(), {user_ctx(c), source, tag}, kCall.text, &outcome);
  return received(kCall.text, c, &outcome, status);
}
template <NameArgument kCall, class Count>
[[gnu::noinline]] int call_recv_checked(void* buf, Count count, MPI_Datatype datatype, int source,
                                        int tag, Comm* c, MPI_Status* status) {
  return recv_checked(kCall.text, buf, count, datatype, source, tag, c, status);
}

/// Checks the arguments without a frame of its own: all ways end in the place of a return.
template <NameArgument kCall, class Count>
[[gnu::always_inline]] inline int recv(void* buf, Count count, MPI_Datatype datatype, int source,
                                       int tag, MPI_Comm comm, MPI_Status* status) {
  sched::maybe_force_switch();
  Comm* c = listed(comm);
  if (__builtin_expect(!c, 0))
    return call_recv_unlisted<kCall>(buf, count, datatype, source, tag, comm, status);
  sched::record_call(kCall.text);
  uint64_t bytes;
  const bool plain =
      static_cast<uint32_t>(source) < c->shared->shortcuts.ranks || source == MPI_ANY_SOURCE;
  if (__builtin_expect(!plain || tag < MPI_ANY_TAG || buf == nullptr ||
                           !plain_bytes(buf, count, datatype, &bytes, g_received_types),
                       0))
    return call_recv_checked<kCall>(buf, count, datatype, source, tag, c, status);
  return call_recv_plain<kCall>(buf, bytes, datatype, source, tag, c, status);
}

/// A nonblocking receive by a communicator that has been found.
[[gnu::always_inline]] inline int irecv_from(const char* call, void* buf, int64_t count,
                                             MPI_Datatype datatype, int source, int tag,
                                             MPI_Comm comm, Comm* c, MPI_Request* request) {
  uint64_t bytes;
  if (__builtin_expect((static_cast<uint32_t>(source) >= c->shared->shortcuts.ranks &&
                        source != MPI_ANY_SOURCE) ||
                           tag < MPI_ANY_TAG || !buf || !request ||
                           !plain_bytes(buf, count, datatype, &bytes, g_received_types) ||
                           !pt2pt::fast::has_free_handle(),
                       0))
    return irecv_checked(call, buf, count, datatype, source, tag, comm, request, false);
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

/// For a handle that is not listed, as send_unlisted().
int irecv_unlisted(const char* call, void* buf, int64_t count, MPI_Datatype datatype, int source,
                   int tag, MPI_Comm comm, MPI_Request* request);

[[gnu::always_inline]] inline int irecv(const char* call, void* buf, int64_t count,
                                        MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                                        MPI_Request* request) {
  Comm* c = listed(comm);
  if (__builtin_expect(!c, 0))
    return irecv_unlisted(call, buf, count, datatype, source, tag, comm, request);
  sched::record_call(call);
  return irecv_from(call, buf, count, datatype, source, tag, comm, c, request);
}

}  // namespace fgmpi::mpi
