// Probes and matched receives (MPI-4.0 section 3.8).

#include "mpi/pt2pt_args.h"

using namespace fgmpi;
using namespace fgmpi::mpi;

namespace {

/// What every probe is given. `finds` looks (and may wait); flag == nullptr: it always finds.
template <class Find>
int probe(const char* call, Comm* c, int source, int tag, int* flag, MPI_Status* status,
          Find&& find) {
  FGMPI_RETURN_IF(call, c, check_recv(c, source, tag));
  Outcome outcome = no_process_outcome();
  bool found = source == MPI_PROC_NULL || find(&outcome);
  if (flag) *flag = found;
  if (found) set_status(status, outcome);
  return MPI_SUCCESS;
}

Status find_message(MPI_Message* handle, pt2pt::Message** out) {
  FGMPI_TRY(check_pointer(handle, "message"));
  *out = nullptr;
  if (*handle == MPI_MESSAGE_NO_PROC) return {};
  if (*handle != MPI_MESSAGE_NULL) *out = pt2pt::take_message(*handle);
  if (*out) return {};
  return error(MPI_ERR_REQUEST, "message is 0x%08x, which is not a message or has been received",
               static_cast<unsigned>(*handle));
}

int mrecv(const char* call, void* buf, int64_t count, MPI_Datatype datatype, MPI_Message* handle,
          MPI_Status* status) {
  sched::maybe_force_switch();
  Comm* c = nullptr;
  Buffer buffer;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer));
  pt2pt::Message* message;
  FGMPI_RETURN_IF(call, c, find_message(handle, &message));
  *handle = MPI_MESSAGE_NULL;
  Outcome outcome = no_process_outcome();
  Status received;
  if (message) received = pt2pt::mrecv(buffer, message, call, &outcome);
  set_status(status, outcome);
  return done(call, c, received);
}

int imrecv(const char* call, void* buf, int64_t count, MPI_Datatype datatype, MPI_Message* handle,
           MPI_Request* request) {
  Comm* c = nullptr;
  Buffer buffer;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer));
  FGMPI_RETURN_IF(call, c, check_pointer(request, "request"));
  FGMPI_RETURN_IF(call, c, pt2pt::need_handle());
  pt2pt::Message* message;
  FGMPI_RETURN_IF(call, c, find_message(handle, &message));
  *handle = MPI_MESSAGE_NULL;
  Request* made = nullptr;
  if (message)
    FGMPI_RETURN_IF(call, c, pt2pt::imrecv(buffer, message, call, nullptr, &made));
  else
    made = pt2pt::completed_request(MPI_PROC_NULL, MPI_ANY_TAG, call, nullptr);
  *request = pt2pt::handle_of(made);
  return MPI_SUCCESS;
}

}  // namespace

FGMPI_EXPORT(MPI_Probe);
int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  constexpr const char* kCall = "MPI_Probe";
  FGMPI_ENTER(kCall, c, comm);
  return probe(kCall, c, source, tag, nullptr, status, [&](Outcome* outcome) {
    pt2pt::probe(my_endpoint(), source, tag, user_ctx(c), kCall, outcome);
    return true;
  });
}

FGMPI_EXPORT(MPI_Iprobe);
int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  constexpr const char* kCall = "MPI_Iprobe";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, check_pointer(flag, "flag"));
  return probe(kCall, c, source, tag, flag, status, [&](Outcome* outcome) {
    return pt2pt::iprobe(my_endpoint(), source, tag, user_ctx(c), outcome);
  });
}

FGMPI_EXPORT(MPI_Mprobe);
int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  constexpr const char* kCall = "MPI_Mprobe";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, check_pointer(message, "message"));
  FGMPI_RETURN_IF(kCall, c, pt2pt::need_message_handle());
  *message = MPI_MESSAGE_NO_PROC;
  return probe(kCall, c, source, tag, nullptr, status, [&](Outcome* outcome) {
    pt2pt::Message* found;
    pt2pt::mprobe(my_endpoint(), source, tag, user_ctx(c), kCall, outcome, &found);
    *message = pt2pt::message_handle(found);
    return true;
  });
}

FGMPI_EXPORT(MPI_Improbe);
int PMPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                 MPI_Status* status) {
  constexpr const char* kCall = "MPI_Improbe";
  FGMPI_ENTER(kCall, c, comm);
  FGMPI_RETURN_IF(kCall, c, check_pointer(flag, "flag"));
  FGMPI_RETURN_IF(kCall, c, check_pointer(message, "message"));
  FGMPI_RETURN_IF(kCall, c, pt2pt::need_message_handle());
  *message = source == MPI_PROC_NULL ? MPI_MESSAGE_NO_PROC : MPI_MESSAGE_NULL;
  return probe(kCall, c, source, tag, flag, status, [&](Outcome* outcome) {
    pt2pt::Message* found;
    if (!pt2pt::improbe(my_endpoint(), source, tag, user_ctx(c), outcome, &found)) return false;
    *message = pt2pt::message_handle(found);
    return true;
  });
}

FGMPI_EXPORT(MPI_Mrecv);
int PMPI_Mrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
               MPI_Status* status) {
  return mrecv("MPI_Mrecv", buf, count, datatype, message, status);
}

FGMPI_EXPORT(MPI_Mrecv_c);
int PMPI_Mrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                 MPI_Status* status) {
  return mrecv("MPI_Mrecv_c", buf, count, datatype, message, status);
}

FGMPI_EXPORT(MPI_Imrecv);
int PMPI_Imrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
                MPI_Request* request) {
  return imrecv("MPI_Imrecv", buf, count, datatype, message, request);
}

FGMPI_EXPORT(MPI_Imrecv_c);
int PMPI_Imrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                  MPI_Request* request) {
  return imrecv("MPI_Imrecv_c", buf, count, datatype, message, request);
}
