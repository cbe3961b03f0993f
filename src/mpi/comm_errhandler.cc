// Error handlers of communicators and sessions, and making those of windows and files (MPI-4.0 section 9.3).

#include "comm/errhandler.h"
#include "host/internal.h"
#include "mpi/comm_common.h"

namespace fgmpi::mpi {
namespace {

using comm::HandlerOf;
using Function = void (*)(void*, int*, ...);

/// A user's handler runs where the error is; it gets the handle and the code by address.
void call_user_handler(comm::Comm* c, MPI_Errhandler handler, int* code) {
  MPI_Comm handle = c->handle;
  comm::call_errhandler(handler, &handle, code);
}

[[maybe_unused]] const bool g_registered = (set_user_handler_caller(call_user_handler), true);

template <class F>
int create(const char* call, HandlerOf of, F* function, MPI_Errhandler* out) {
  FGMPI_RETURN_IF(call, nullptr, check_pointer(out, "errhandler"));
  return done(call, nullptr,
              comm::create_errhandler(of, reinterpret_cast<Function>(function), out));
}

int set(const char* call, MPI_Comm handle, MPI_Errhandler errhandler) {
  FGMPI_ENTER(call, c, handle);
  FGMPI_RETURN_IF(call, nullptr, comm::check_errhandler(HandlerOf::kComm, errhandler));
  comm::retain_errhandler(errhandler);
  comm::release_errhandler(c->errhandler);
  c->errhandler = errhandler;
  if (c->handle == MPI_COMM_SELF) comm::rank_state()->self_answers = true;
  return MPI_SUCCESS;
}

int get(const char* call, MPI_Comm handle, MPI_Errhandler* errhandler) {
  FGMPI_ENTER(call, c, handle);
  FGMPI_RETURN_IF(call, c, check_pointer(errhandler, "errhandler"));
  comm::retain_errhandler(c->errhandler);
  *errhandler = c->errhandler;
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace fgmpi::mpi

using namespace fgmpi;
using comm::HandlerOf;

FGMPI_EXPORT(MPI_Comm_create_errhandler);
int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function* function,
                                MPI_Errhandler* errhandler) {
  return mpi::create("MPI_Comm_create_errhandler", HandlerOf::kComm, function, errhandler);
}

FGMPI_EXPORT(MPI_Errhandler_create);
int PMPI_Errhandler_create(MPI_Comm_errhandler_function* function, MPI_Errhandler* errhandler) {
  return mpi::create("MPI_Errhandler_create", HandlerOf::kComm, function, errhandler);
}

FGMPI_EXPORT(MPI_Win_create_errhandler);
int PMPI_Win_create_errhandler(MPI_Win_errhandler_function* function, MPI_Errhandler* errhandler) {
  return mpi::create("MPI_Win_create_errhandler", HandlerOf::kWin, function, errhandler);
}

FGMPI_EXPORT(MPI_File_create_errhandler);
int PMPI_File_create_errhandler(MPI_File_errhandler_function* function,
                                MPI_Errhandler* errhandler) {
  return mpi::create("MPI_File_create_errhandler", HandlerOf::kFile, function, errhandler);
}

FGMPI_EXPORT(MPI_Session_create_errhandler);
int PMPI_Session_create_errhandler(MPI_Session_errhandler_function* function,
                                   MPI_Errhandler* errhandler) {
  return mpi::create("MPI_Session_create_errhandler", HandlerOf::kSession, function, errhandler);
}

FGMPI_EXPORT(MPI_Comm_set_errhandler);
int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler) {
  return mpi::set("MPI_Comm_set_errhandler", comm, errhandler);
}

FGMPI_EXPORT(MPI_Errhandler_set);
int PMPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler) {
  return mpi::set("MPI_Errhandler_set", comm, errhandler);
}

FGMPI_EXPORT(MPI_Comm_get_errhandler);
int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* errhandler) {
  return mpi::get("MPI_Comm_get_errhandler", comm, errhandler);
}

FGMPI_EXPORT(MPI_Errhandler_get);
int PMPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler* errhandler) {
  return mpi::get("MPI_Errhandler_get", comm, errhandler);
}

FGMPI_EXPORT(MPI_Errhandler_free);
int PMPI_Errhandler_free(MPI_Errhandler* errhandler) {
  FGMPI_RETURN_IF("MPI_Errhandler_free", nullptr, comm::free_errhandler(*errhandler));
  *errhandler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Comm_call_errhandler);
int PMPI_Comm_call_errhandler(MPI_Comm comm, int errorcode) {
  constexpr const char* kCall = "MPI_Comm_call_errhandler";
  FGMPI_ENTER(kCall, c, comm);
  mpi::fail_code(kCall, c, errorcode);
  return MPI_SUCCESS;
}

FGMPI_EXPORT_INTERNAL(MPII_Errhandler_set_cxx);
void MPII_Errhandler_set_cxx(MPI_Errhandler handler, fgmpi_cxx_caller* caller) {
  comm::set_cxx_caller(handler,
                       reinterpret_cast<comm::CxxHandlerCaller>(reinterpret_cast<void*>(caller)));
}
