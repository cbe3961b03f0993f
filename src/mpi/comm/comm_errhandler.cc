// Error handlers of communicators and sessions, and making those of windows and files (MPI-4.0
// section 9.3).

#include "comm/errhandler.h"
#include "file/file.h"
#include "host/internal.h"
#include "mpi/calls.h"
#include "mpi/comm/comm_common.h"

namespace fgmpi::mpi {
namespace {

/// Calls a user's handler in the rank that has the error; the handler receives the handle and the
/// code by address.
void call_user_handler(comm::Comm* c, MPI_Errhandler handler, int* code) {
  MPI_Comm handle = c->handle;
  // The communicator is a file's own: a nonblocking operation on the file has failed.
  const file::File* file = sched::is_unattached_thread() ? nullptr : file::find_by_comm(c);
  if (file) {
    MPI_File fh = file::handle_of(file);
    comm::call_errhandler(handler, &fh, code);
    return;
  }
  comm::call_errhandler(handler, &handle, code);
}

[[maybe_unused]] const bool g_registered = (set_user_handler_caller(call_user_handler), true);

}  // namespace

Status comm_set_errhandler(comm::Comm* comm, MPI_Errhandler errhandler) {
  comm::retain_errhandler(errhandler);
  comm::release_errhandler(comm->errhandler);
  comm->errhandler = errhandler;
  if (comm->handle == MPI_COMM_SELF) comm::rank_state()->self_answers = true;
  return {};
}

Status comm_get_errhandler(comm::Comm* comm, MPI_Errhandler* errhandler) {
  *errhandler = handler_or_default(comm);
  comm::retain_errhandler(*errhandler);
  return {};
}

Status errhandler_free(MPI_Errhandler* errhandler) {
  FGMPI_TRY(comm::free_errhandler(*errhandler));
  *errhandler = MPI_ERRHANDLER_NULL;
  return {};
}

int comm_call_errhandler(comm::Comm* comm, int errorcode) {
  fail_code("MPI_Comm_call_errhandler", comm, errorcode);
  return MPI_SUCCESS;
}

}  // namespace fgmpi::mpi

using namespace fgmpi;

FGMPI_EXPORT_INTERNAL(MPII_Errhandler_set_cxx);
void MPII_Errhandler_set_cxx(MPI_Errhandler handler, fgmpi_cxx_caller* caller) {
  FGMPI_TAKE_TURN("MPI_Comm_create_errhandler", MPII_Errhandler_set_cxx(handler, caller));
  comm::set_cxx_caller(handler,
                       reinterpret_cast<comm::CxxHandlerCaller>(reinterpret_cast<void*>(caller)));
}
