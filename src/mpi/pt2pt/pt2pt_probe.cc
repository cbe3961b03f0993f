// Probes and matched receives (MPI-4.0 section 3.8).

#include "mpi/calls.h"
#include "mpi/pt2pt/pt2pt_calls.h"
#include "survivors/survivors.h"

namespace fgmpi::mpi {
namespace {

/// True where a message may come that this pattern matches.
Status check_probe(const Comm* c, int source, int tag) {
  return survivors::troubled() ? survivors::check_receive(c, source, tag) : Status();
}

/// Probes. `find(&outcome)` searches for a message from a process.
template <class Find>
bool found(int source, MPI_Status* status, Find&& find) {
  Outcome outcome = no_process_outcome();
  if (source != MPI_PROC_NULL && !find(&outcome)) return false;
  set_status(status, outcome);
  return true;
}

Status find_message(MPI_Message* handle, pt2pt::Message** out) {
  FGMPI_TRY(check_pointer(handle, "message"));
  *out = nullptr;
  if (*handle == MPI_MESSAGE_NO_PROC) return {};
  if (*handle != MPI_MESSAGE_NULL) *out = pt2pt::claim_message(*handle);
  if (*out) return {};
  return error(MPI_ERR_REQUEST, "message is 0x%08x, which is not a message or has been received",
               static_cast<unsigned>(*handle));
}

}  // namespace

int mrecv(const char* call, void* buf, int64_t count, MPI_Datatype datatype, MPI_Message* handle,
          MPI_Status* status) {
  Comm* c = nullptr;
  Buffer buffer;
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer, true, call));
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
  FGMPI_RETURN_IF(call, c, make_buffer(buf, count, datatype, &buffer, true, call));
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

Status probe(int source, int tag, Comm* c, MPI_Status* status) {
  FGMPI_TRY(check_probe(c, source, tag));
  Outcome outcome = no_process_outcome();
  if (source != MPI_PROC_NULL)
    FGMPI_TRY(pt2pt::probe(my_endpoint(), source, tag, user_ctx(c), "MPI_Probe", &outcome));
  set_status(status, outcome);
  return {};
}

Status iprobe(int source, int tag, Comm* c, int* flag, MPI_Status* status) {
  FGMPI_TRY(check_probe(c, source, tag));
  *flag = found(source, status, [&](Outcome* outcome) {
    return pt2pt::iprobe(my_endpoint(), source, tag, user_ctx(c), outcome);
  });
  return {};
}

Status mprobe(int source, int tag, Comm* c, MPI_Message* message, MPI_Status* status) {
  FGMPI_TRY(pt2pt::need_message_handle());
  FGMPI_TRY(check_probe(c, source, tag));
  *message = MPI_MESSAGE_NO_PROC;
  Outcome outcome = no_process_outcome();
  if (source != MPI_PROC_NULL) {
    pt2pt::Message* taken;
    FGMPI_TRY(
        pt2pt::mprobe(my_endpoint(), source, tag, user_ctx(c), "MPI_Mprobe", &outcome, &taken));
    *message = pt2pt::message_handle(taken);
  }
  set_status(status, outcome);
  return {};
}

Status improbe(int source, int tag, Comm* c, int* flag, MPI_Message* message, MPI_Status* status) {
  FGMPI_TRY(pt2pt::need_message_handle());
  FGMPI_TRY(check_probe(c, source, tag));
  *message = source == MPI_PROC_NULL ? MPI_MESSAGE_NO_PROC : MPI_MESSAGE_NULL;
  *flag = found(source, status, [&](Outcome* outcome) {
    pt2pt::Message* taken;
    if (!pt2pt::improbe(my_endpoint(), source, tag, user_ctx(c), outcome, &taken)) return false;
    *message = pt2pt::message_handle(taken);
    return true;
  });
  return {};
}

}  // namespace fgmpi::mpi
