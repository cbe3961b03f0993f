// Waits and tests for requests of which some were made at home, by the deputy, and some where the
// rank is. They get MPI's handles, where those of the first kind have a mark (deputy.h).
//
// A wait for one of several asks both at once, and whoever finds one first ends the other's wait.
// Everything else asks one after the other. Where requests of both kinds fail in one call, their
// error handlers are called for each kind.
#include <algorithm>
#include <vector>

#include "checkpoint/deputy.h"
#include "checkpoint/moves.h"
#include "checkpoint/wrappers.h"

namespace fgmpi::checkpoint {
namespace {

/// A function of MPI's that is called where the rank is.
template <class... Parameters>
int call_here(const char*, int (*function)(Parameters...),
              std::type_identity_t<Parameters>... arguments) {
  return function(arguments...);
}

bool is_any_at_home(int n, const MPI_Request* requests) {
  return n > 0 && requests && std::any_of(requests, requests + n, is_at_home);
}

bool is_in_status(int code) {
  int error_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) g_mpi.MPI_Error_class(code, &error_class);
  return error_class == MPI_ERR_IN_STATUS;
}

/// The requests of a call that are of one kind.
struct RequestsOfKind {
  bool at_home;
  std::vector<MPI_Request> handles;  ///< MPI's, without marks
  std::vector<int> positions;        ///< in the call
  std::vector<MPI_Status> statuses;
  std::vector<int> indices;  ///< of completed ones, among these
  int completed = 0;         ///< how many of them; MPI_UNDEFINED: none is active
  int code = MPI_SUCCESS;

  RequestsOfKind(bool home, int n, const MPI_Request* requests) : at_home(home) {
    for (int i = 0; i < n; ++i) {
      if (is_at_home(requests[i]) != home) continue;
      handles.push_back(without_mark(requests[i]));
      positions.push_back(i);
    }
    statuses.resize(handles.size() + 1);
    indices.resize(handles.size() + 1);
  }
  int size() const { return static_cast<int>(handles.size()); }
  template <class... Parameters>
  int call(const char* name, int (*function)(Parameters...),
           std::type_identity_t<Parameters>... arguments) {
    return code = at_home ? by_deputy(name, function, arguments...)
                          : call_here(name, function, arguments...);
  }
  /// Gives the call the handles that its requests have now.
  void write_handles(MPI_Request* requests) const {
    for (size_t i = 0; i < handles.size(); ++i)
      requests[positions[i]] = at_home ? with_mark(handles[i]) : handles[i];
  }
  /// A status of a call in which others have failed.
  MPI_Status status(size_t i, bool failed) const {
    MPI_Status told = statuses[i];
    if (failed && code == MPI_SUCCESS) told.MPI_ERROR = MPI_SUCCESS;
    return told;
  }
};

struct RequestsOfBoth {
  RequestsOfKind here, home;

  RequestsOfBoth(int n, const MPI_Request* requests)
      : here(false, n, requests), home(true, n, requests) {}
  void write_handles(MPI_Request* requests) const {
    here.write_handles(requests);
    home.write_handles(requests);
  }
  int code() const {
    if (here.code != MPI_SUCCESS && !is_in_status(here.code)) return here.code;
    return home.code != MPI_SUCCESS ? home.code : here.code;
  }
  void write_statuses(MPI_Status* statuses) const {
    if (statuses == MPI_STATUSES_IGNORE) return;
    const bool failed = code() != MPI_SUCCESS;
    for (const RequestsOfKind* kind : {&here, &home})
      for (size_t i = 0; i < kind->handles.size(); ++i)
        statuses[kind->positions[i]] = kind->status(i, failed);
  }
};

/// Calls a function for one request.
template <class... Parameters, class... Others>
int call_for_one(const char* name, int (*function)(MPI_Request*, Parameters...),
                 MPI_Request* request, Others... others) {
  if (!request || !is_at_home(*request)) return function(request, others...);
  MPI_Request real = without_mark(*request);
  const int code = by_deputy(name, function, &real, others...);
  *request = with_mark(real);
  return code;
}

int wait(MPI_Request* request, MPI_Status* status) {
  return call_for_one("MPI_Wait", g_mpi.MPI_Wait, request, status);
}
int test(MPI_Request* request, int* flag, MPI_Status* status) {
  return call_for_one("MPI_Test", g_mpi.MPI_Test, request, flag, status);
}
int start(MPI_Request* request) { return call_for_one("MPI_Start", g_mpi.MPI_Start, request); }
int cancel(MPI_Request* request) { return call_for_one("MPI_Cancel", g_mpi.MPI_Cancel, request); }
int free_request(MPI_Request* request) {
  return call_for_one("MPI_Request_free", g_mpi.MPI_Request_free, request);
}
int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  if (!is_at_home(request)) return g_mpi.MPI_Request_get_status(request, flag, status);
  return by_deputy("MPI_Request_get_status", g_mpi.MPI_Request_get_status, without_mark(request),
                   flag, status);
}

int wait_all(int n, MPI_Request* requests, MPI_Status* statuses) {
  if (!is_any_at_home(n, requests)) return g_mpi.MPI_Waitall(n, requests, statuses);
  RequestsOfBoth both(n, requests);
  for (RequestsOfKind* kind : {&both.here, &both.home})
    if (kind->size() > 0)
      kind->call("MPI_Waitall", g_mpi.MPI_Waitall, kind->size(), kind->handles.data(),
                 kind->statuses.data());
  both.write_handles(requests);
  both.write_statuses(statuses);
  return both.code();
}

/// Are all of these complete? Completes none.
bool are_complete(RequestsOfKind& kind) {
  int flag = 1;
  for (MPI_Request request : kind.handles)
    if (flag)
      kind.call("MPI_Testall", g_mpi.MPI_Request_get_status, request, &flag, MPI_STATUS_IGNORE);
  return flag;
}

int test_all(int n, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (!is_any_at_home(n, requests) || !flag) return g_mpi.MPI_Testall(n, requests, flag, statuses);
  RequestsOfBoth both(n, requests);
  *flag = 0;
  if (!are_complete(both.here)) return MPI_SUCCESS;
  both.home.call("MPI_Testall", g_mpi.MPI_Testall, both.home.size(), both.home.handles.data(), flag,
                 both.home.statuses.data());
  const bool over = both.home.code != MPI_SUCCESS || *flag;
  if (over && both.here.size() > 0)
    both.here.call("MPI_Testall", g_mpi.MPI_Waitall, both.here.size(), both.here.handles.data(),
                   both.here.statuses.data());
  both.write_handles(requests);
  if (over) both.write_statuses(statuses);
  return both.code();
}

int test_any(int n, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (!is_any_at_home(n, requests) || !index || !flag)
    return g_mpi.MPI_Testany(n, requests, index, flag, status);
  RequestsOfBoth both(n, requests);
  bool active = false;
  for (RequestsOfKind* kind : {&both.here, &both.home}) {
    if (kind->size() == 0) continue;
    int at = MPI_UNDEFINED;
    const int code = kind->call("MPI_Testany", g_mpi.MPI_Testany, kind->size(),
                                kind->handles.data(), &at, flag, status);
    if (code != MPI_SUCCESS || (*flag && at != MPI_UNDEFINED)) {
      both.write_handles(requests);
      *index = at >= 0 && at < kind->size() ? kind->positions[static_cast<size_t>(at)] : at;
      return code;
    }
    active |= !*flag;
  }
  *flag = !active;
  *index = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int test_some(int n, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  if (!is_any_at_home(n, requests) || !outcount || !indices)
    return g_mpi.MPI_Testsome(n, requests, outcount, indices, statuses);
  RequestsOfBoth both(n, requests);
  *outcount = MPI_UNDEFINED;
  for (RequestsOfKind* kind : {&both.here, &both.home}) {
    kind->completed = MPI_UNDEFINED;
    if (kind->size() > 0)
      kind->call("MPI_Testsome", g_mpi.MPI_Testsome, kind->size(), kind->handles.data(),
                 &kind->completed, kind->indices.data(), kind->statuses.data());
    if (kind->completed != MPI_UNDEFINED)
      *outcount = kind->completed + (*outcount == MPI_UNDEFINED ? 0 : *outcount);
  }
  both.write_handles(requests);
  const bool failed = both.code() != MPI_SUCCESS;
  int told = 0;
  for (const RequestsOfKind* kind : {&both.here, &both.home}) {
    if (kind->completed == MPI_UNDEFINED) continue;
    for (size_t i = 0; i < static_cast<size_t>(kind->completed); ++i, ++told) {
      indices[told] = kind->positions[static_cast<size_t>(kind->indices[i])];
      if (statuses != MPI_STATUSES_IGNORE) statuses[told] = kind->status(i, failed);
    }
  }
  return both.code();
}

int always_waits(void*, void*) { return 1; }

int wait_any(int n, MPI_Request* requests, int* index, MPI_Status* status) {
  if (!is_any_at_home(n, requests) || !index) return g_mpi.MPI_Waitany(n, requests, index, status);
  for (int flag = 0;;) {
    g_await("MPI_Waitany", 0, n, requests, always_waits, nullptr);
    const int code = test_any(n, requests, index, &flag, status);
    if (code != MPI_SUCCESS || flag) return code;
  }
}

int wait_some(int n, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  if (!is_any_at_home(n, requests) || !outcount || !indices)
    return g_mpi.MPI_Waitsome(n, requests, outcount, indices, statuses);
  for (;;) {
    g_await("MPI_Waitsome", 0, n, requests, always_waits, nullptr);
    const int code = test_some(n, requests, outcount, indices, statuses);
    if (code != MPI_SUCCESS || *outcount != 0) return code;
  }
}

// ---- Requests that are only looked at

int get_status_all(int n, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (!is_any_at_home(n, requests) || !flag)
    return g_mpi.MPI_Request_get_status_all(n, requests, flag, statuses);
  RequestsOfBoth both(n, requests);
  *flag = 1;
  for (RequestsOfKind* kind : {&both.here, &both.home})
    if (*flag && kind->size() > 0)
      kind->call("MPI_Request_get_status_all", g_mpi.MPI_Request_get_status_all, kind->size(),
                 kind->handles.data(), flag, kind->statuses.data());
  if (*flag) both.write_statuses(statuses);
  return both.code();
}

int get_status_any(int n, const MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (!is_any_at_home(n, requests) || !index || !flag)
    return g_mpi.MPI_Request_get_status_any(n, requests, index, flag, status);
  RequestsOfBoth both(n, requests);
  bool active = false;
  for (RequestsOfKind* kind : {&both.here, &both.home}) {
    if (kind->size() == 0) continue;
    int at = MPI_UNDEFINED;
    const int code = kind->call("MPI_Request_get_status_any", g_mpi.MPI_Request_get_status_any,
                                kind->size(), kind->handles.data(), &at, flag, status);
    if (code != MPI_SUCCESS || (*flag && at != MPI_UNDEFINED)) {
      *index = at >= 0 && at < kind->size() ? kind->positions[static_cast<size_t>(at)] : at;
      return code;
    }
    active |= !*flag;
  }
  *flag = !active;
  *index = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int get_status_some(int n, const MPI_Request* requests, int* outcount, int* indices,
                    MPI_Status* statuses) {
  if (!is_any_at_home(n, requests) || !outcount || !indices)
    return g_mpi.MPI_Request_get_status_some(n, requests, outcount, indices, statuses);
  RequestsOfBoth both(n, requests);
  *outcount = MPI_UNDEFINED;
  int told = 0;
  for (RequestsOfKind* kind : {&both.here, &both.home}) {
    if (kind->size() == 0) continue;
    const int code = kind->call("MPI_Request_get_status_some", g_mpi.MPI_Request_get_status_some,
                                kind->size(), kind->handles.data(), &kind->completed,
                                kind->indices.data(), kind->statuses.data());
    if (code != MPI_SUCCESS) return code;
    if (kind->completed == MPI_UNDEFINED) continue;
    for (size_t i = 0; i < static_cast<size_t>(kind->completed); ++i, ++told) {
      indices[told] = kind->positions[static_cast<size_t>(kind->indices[i])];
      if (statuses != MPI_STATUSES_IGNORE) statuses[told] = kind->statuses[i];
    }
    *outcount = told;
  }
  return MPI_SUCCESS;
}

// ---- Waits that complete nothing (MPIX_Tool_await)

/// A wait for one request of either kind: the rank waits for its own, the deputy for the others.
struct WaitForEither {
  const char* what;
  RequestsOfBoth both;
  MPIX_Tool_begins begins;
  void* argument;
  void *wait_here = nullptr, *wait_at_home = nullptr;
  bool over_here = false, over_at_home = false;
  int found_at_home = 0;

  static int begin_here(void* wait, void* data) {
    auto* either = static_cast<WaitForEither*>(data);
    if (either->over_at_home) return 0;
    either->wait_here = wait;
    return either->begins(wait, either->argument);
  }
  static int begin_at_home(void* wait, void* data) {
    auto* either = static_cast<WaitForEither*>(data);
    if (either->over_here) return 0;
    either->wait_at_home = wait;
    return 1;
  }
  /// The deputy's part.
  static void wait_as_deputy(void* data) {
    auto* either = static_cast<WaitForEither*>(data);
    RequestsOfKind& home = either->both.home;
    either->found_at_home =
        MPIX_Tool_await(either->what, 0, home.size(), home.handles.data(), begin_at_home, data);
    either->over_at_home = true;
    if (either->wait_here) MPIX_Tool_interrupt(either->wait_here);
  }
  /// The rank's part. The deputy has begun.
  bool wait(void* deputy) {
    const RequestsOfKind& here = both.here;
    const int found = MPIX_Tool_await(what, 0, here.size(), here.handles.data(), begin_here, this);
    wait_here = nullptr;
    over_here = true;
    if (!over_at_home && wait_at_home) MPIX_Tool_interrupt(wait_at_home);
    fgmpi_end_deputy(deputy);
    return found || found_at_home;
  }
};

/// Waits of a rank in another process than its deputy: neither can end the wait of the other.
int poll_both(const RequestsOfKind& here, const RequestsOfKind& home) {
  for (int flag = 0, index = 0;;) {
    g_mpi.MPI_Request_get_status_any(here.size(), here.handles.data(), &index, &flag,
                                     MPI_STATUS_IGNORE);
    if (flag) return 1;
    by_deputy("MPI_Waitany", g_mpi.MPI_Request_get_status_any, home.size(), home.handles.data(),
              &index, &flag, MPI_STATUS_IGNORE);
    if (flag) return 1;
  }
}

int await_both(const char* what, int all, int n, const MPI_Request* requests,
               MPIX_Tool_begins begins, void* argument) {
  if (!is_any_at_home(n, requests))
    return MPIX_Tool_await(what, all, n, requests, begins, argument);
  WaitForEither either = {what, {n, requests}, begins, argument};
  RequestsOfKind &here = either.both.here, &home = either.both.home;
  if (all || here.size() == 0) {
    if (here.size() > 0 &&
        !MPIX_Tool_await(what, all, here.size(), here.handles.data(), begins, argument))
      return 0;
    return by_deputy(what, MPIX_Tool_await, what, all, home.size(), home.handles.data(), begins,
                     argument);
  }
  if (g_moves && has_deputy()) return poll_both(here, home);
  if (void* deputy = fgmpi_begin_deputy(what, {WaitForEither::wait_as_deputy, &either}))
    return either.wait(deputy);
  std::vector<MPI_Request> together(requests, requests + n);
  for (MPI_Request& request : together) request = without_mark(request);
  return MPIX_Tool_await(what, all, n, together.data(), begins, argument);
}

}  // namespace

void ask_both_for_requests(Next* next) {
  next->MPI_Wait = wait;
  next->MPI_Test = test;
  next->MPI_Start = start;
  next->MPI_Cancel = cancel;
  next->MPI_Request_free = free_request;
  next->MPI_Request_get_status = get_status;
  next->MPI_Waitall = wait_all;
  next->MPI_Testall = test_all;
  next->MPI_Waitany = wait_any;
  next->MPI_Testany = test_any;
  next->MPI_Waitsome = wait_some;
  next->MPI_Testsome = test_some;
  next->MPI_Request_get_status_all = get_status_all;
  next->MPI_Request_get_status_any = get_status_any;
  next->MPI_Request_get_status_some = get_status_some;
  g_await = await_both;
}

}  // namespace fgmpi::checkpoint
