// Generalized requests (MPI-4.0 section 13.2) and MPICH's extension of them.

#include <deque>

#include "host/internal.h"
#include "mpi/pt2pt/pt2pt_args.h"

using namespace fgmpi;
using namespace fgmpi::mpi;

namespace {

int start(const char* call, const pt2pt::GeneralizedCalls& calls, MPI_Request* request) {
  if (!comm::rank_state()) return bad_comm(call, MPI_COMM_SELF);
  sched::count_call();
  FGMPI_RETURN_IF(call, nullptr, check_pointer(request, "request"));
  FGMPI_RETURN_IF(call, nullptr, pt2pt::need_handle());
  *request = pt2pt::handle_of(pt2pt::generalized_start(calls, call));
  return MPI_SUCCESS;
}

/// Classes live as long as the process: a handle is the index in this list, from 1.
std::deque<pt2pt::GeneralizedCalls>& classes() {
  static auto* list = new std::deque<pt2pt::GeneralizedCalls>;
  return *list;
}

}  // namespace

FGMPI_EXPORT(MPI_Grequest_start);
int PMPI_Grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                        MPI_Grequest_cancel_function* cancel_fn, void* extra_state,
                        MPI_Request* request) {
  FGMPI_TAKE_TURN("MPI_Grequest_start",
                  PMPI_Grequest_start(query_fn, free_fn, cancel_fn, extra_state, request));
  return start("MPI_Grequest_start", {query_fn, free_fn, cancel_fn, nullptr, extra_state}, request);
}

FGMPI_EXPORT(MPI_Grequest_complete);
int PMPI_Grequest_complete(MPI_Request request) {
  FGMPI_TAKE_TURN("MPI_Grequest_complete", PMPI_Grequest_complete(request));
  constexpr const char* kCall = "MPI_Grequest_complete";
  Request* r = pt2pt::find_freed_too(request);
  if (!r)
    return fail(
        kCall, nullptr,
        error(MPI_ERR_REQUEST, "request is 0x%08x, which is not a request or has been completed",
              static_cast<unsigned>(request)));
  int code;
  FGMPI_RETURN_IF(kCall, nullptr, pt2pt::generalized_complete(r, &code));
  return code == MPI_SUCCESS ? MPI_SUCCESS : fail_code(kCall, nullptr, code);
}

// The wait function of the extension is not needed: a rank that waits calls the poll function in
// turn with the others.
FGMPI_EXPORT(MPIX_Grequest_start);
int PMPIX_Grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                         MPI_Grequest_cancel_function* cancel_fn,
                         MPIX_Grequest_poll_function* poll_fn, MPIX_Grequest_wait_function* wait_fn,
                         void* extra_state, MPI_Request* request) {
  FGMPI_TAKE_TURN("MPIX_Grequest_start", PMPIX_Grequest_start(query_fn, free_fn, cancel_fn, poll_fn,
                                                              wait_fn, extra_state, request));
  return start("MPIX_Grequest_start", {query_fn, free_fn, cancel_fn, poll_fn, extra_state},
               request);
}

FGMPI_EXPORT(MPIX_Grequest_class_create);
int PMPIX_Grequest_class_create(MPI_Grequest_query_function* query_fn,
                                MPI_Grequest_free_function* free_fn,
                                MPI_Grequest_cancel_function* cancel_fn,
                                MPIX_Grequest_poll_function* poll_fn,
                                MPIX_Grequest_wait_function* wait_fn,
                                MPIX_Grequest_class* greq_class) {
  FGMPI_TAKE_TURN(
      "MPIX_Grequest_class_create",
      PMPIX_Grequest_class_create(query_fn, free_fn, cancel_fn, poll_fn, wait_fn, greq_class));
  constexpr const char* kCall = "MPIX_Grequest_class_create";
  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(greq_class, "greq_class"));
  classes().push_back({query_fn, free_fn, cancel_fn, poll_fn, nullptr});
  *greq_class = static_cast<int>(classes().size());
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPIX_Grequest_class_allocate);
int PMPIX_Grequest_class_allocate(MPIX_Grequest_class greq_class, void* extra_state,
                                  MPI_Request* request) {
  FGMPI_TAKE_TURN("MPIX_Grequest_class_allocate",
                  PMPIX_Grequest_class_allocate(greq_class, extra_state, request));
  constexpr const char* kCall = "MPIX_Grequest_class_allocate";
  if (greq_class < 1 || static_cast<size_t>(greq_class) > classes().size())
    return fail(
        kCall, nullptr,
        error(MPI_ERR_ARG, "greq_class is %d; allowed is one that MPIX_Grequest_class_create made",
              greq_class));
  pt2pt::GeneralizedCalls calls = classes()[static_cast<size_t>(greq_class) - 1];
  calls.state = extra_state;
  return start(kCall, calls, request);
}

/// Called by the Fortran bindings after MPI_Grequest_start: the request's functions are Fortran's.
FGMPI_EXPORT_INTERNAL(MPII_Grequest_set_lang_f77);
void MPII_Grequest_set_lang_f77(MPI_Request request) {
  FGMPI_TAKE_TURN("MPI_Grequest_start", MPII_Grequest_set_lang_f77(request));
  if (Request* r = pt2pt::find_request(request)) pt2pt::generalized_fortran(r);
}
