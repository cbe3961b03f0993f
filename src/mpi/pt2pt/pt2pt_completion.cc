// Completion of requests: MPI-4.0 sections 3.7.3 to 3.7.6, 3.8.4 and 3.9. Requests of every kind
// are completed here.

#include <algorithm>
#include <memory>
#include <vector>

#include "base/strings.h"
#include "coll/coll.h"
#include "pt2pt/message_decider.h"

#include "mpi/pt2pt/pt2pt_calls.h"
#include "mpi/tools/events.h"
#include "pt2pt/lost.h"
#include "pt2pt/polls.h"
#include "survivors/survivors.h"

using namespace fgmpi;
using namespace fgmpi::mpi;

namespace {

/// The requests behind an array of handles; null and inactive ones are nullptr. Short arrays need
/// no memory.
class Requests {
 public:
  Requests(int count) : size_(static_cast<size_t>(std::max(count, 0))), list_(few_) {
    if (size_ > kFew) list_ = (many_ = std::make_unique<Request*[]>(size_)).get();
  }
  size_t size() const { return size_; }
  Request** data() { return list_; }
  Request*& operator[](size_t i) { return list_[i]; }
  bool none() const {
    return std::all_of(list_, list_ + size_, [](Request* r) { return r == nullptr; });
  }

 private:
  static constexpr size_t kFew = 64;
  size_t size_;
  Request** list_;
  Request* few_[kFew];
  std::unique_ptr<Request*[]> many_;
};

Status bad_request(MPI_Request handle, int index) {
  std::string where = index < 0 ? "request" : format("array_of_requests[%d]", index);
  return error(MPI_ERR_REQUEST, "%s is 0x%08x, which is not a request or has been completed",
               where.c_str(), static_cast<unsigned>(handle));
}

/// nullptr in *out for MPI_REQUEST_NULL and inactive requests. False: not a request.
inline bool looked_up(MPI_Request handle, Request** out) {
  *out = nullptr;
  if (handle == MPI_REQUEST_NULL) return true;
  Request* r = pt2pt::fast::find_request(handle);
  if (__builtin_expect(!r, 0)) return false;
  if (r->active) *out = r;
  return true;
}

inline Status find_request(MPI_Request handle, int index, Request** out) {
  return __builtin_expect(looked_up(handle, out), 1) ? Status() : bad_request(handle, index);
}

Status find_requests(int count, const MPI_Request* handles, Requests* out) {
  if (count < 0) return error(MPI_ERR_COUNT, "count is %d; allowed is 0 or more", count);
  if (count > 0) FGMPI_TRY(check_pointer(handles, "array_of_requests"));
  for (int i = 0; i < count; ++i)
    if (!looked_up(handles[i], out->data() + i)) return bad_request(handles[i], i);
  return {};
}

/// As collect(), for requests that have an error, are persistent or compute their status
/// themselves.
[[gnu::noinline]] int collect_special(const char* call, MPI_Request* handle, Request* r,
                                      MPI_Status* status) {
  int code = -1;
  if (r->external || r->polled)
    code = r->fill_status(status == MPI_STATUS_IGNORE ? nullptr : status);
  if (code < 0) {
    code = MPI_SUCCESS;
    set_status(status, r->outcome);
    if (!r->outcome.error.ok()) {
      code = code_of(call, r->outcome.error);
      if (pt2pt::go_on_if_stalled(r)) return code;
      r->outcome.error = Status();
    }
  }
  if (code == MPI_SUCCESS) events::raise_completed(r);
  if (r->persistent) {
    r->active = r->reported_complete = false;
    return code;
  }
  // The code is that of the last function called, the free function, where there is one (MPI-4.0
  // section 13.2). Without a free function it is that of the query function.
  if (int last = r->release()) code = last;
  pt2pt::free_request(r);
  *handle = MPI_REQUEST_NULL;
  return code;
}

/// Collects a complete request: fills its status, and decides what becomes of the handle. Returns
/// the request's error code, without calling a handler.
inline int collect(const char* call, MPI_Request* handle, Request* r, MPI_Status* status) {
  if (__builtin_expect(r->is_special() || !r->outcome.error.ok(), 0))
    return collect_special(call, handle, r, status);
  if (status != MPI_STATUS_IGNORE) set_status(status, r->outcome);
  *handle = MPI_REQUEST_NULL;
  if (r->immortal) return MPI_SUCCESS;
  pt2pt::fast::drop_handle(r);
  delete r;
  return MPI_SUCCESS;
}

/// Holds the communicator while its requests are freed.
struct KeepComm {
  explicit KeepComm(Comm* c) : comm(c) {
    if (comm) comm->retain();
  }
  ~KeepComm() {
    if (comm) comm->release();
  }
  KeepComm(const KeepComm&) = delete;
  Comm* comm;
};

/// Collects a request for calls that complete one: an error goes to the request's communicator's
/// handler.
int collect_one(const char* call, MPI_Request* handle, Request* r, MPI_Status* status) {
  Comm* c = comm_of(r);
  if (__builtin_expect(!r->outcome.error.ok() && c, 0)) {
    const KeepComm keep(c);  // an error handler may throw
    return fail_code(call, c, collect(call, handle, r, status));
  }
  int code = collect(call, handle, r, status);
  return __builtin_expect(code == MPI_SUCCESS, 1) ? MPI_SUCCESS : fail_code(call, nullptr, code);
}

inline MPI_Status* status_at(MPI_Status* statuses, size_t i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

/// Collects all complete requests of a list, in order, for the _all and _some forms. `chosen`:
/// receives their indices, and the statuses are stored one after the other; nullptr: statuses are
/// stored by index. Returns true when one request had an error.
bool collect_list(const char* call, MPI_Request* handles, Requests& list, int* chosen,
                  MPI_Status* statuses, int* collected) {
  bool failed = false;
  int n = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    MPI_Status* status = status_at(statuses, chosen ? static_cast<size_t>(n) : i);
    if (!list[i]) {
      if (!chosen) set_empty_status(status);
      continue;
    }
    // The request is found again: where a handle stands twice in the array, the first has collected
    // it.
    Request* r = pt2pt::fast::find_request(handles[i]);
    int code = MPI_SUCCESS;
    if (__builtin_expect(r == list[i] && r->active, 1)) {
      if (chosen && !r->complete()) continue;
      code = collect(call, &handles[i], r, status);
    } else {
      if (chosen) continue;
      set_empty_status(status);
      handles[i] = MPI_REQUEST_NULL;
    }
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
    failed |= code != MPI_SUCCESS;
    if (chosen) chosen[n] = static_cast<int>(i);
    ++n;
  }
  *collected = n;
  return failed;
}

int in_status(const char* call, Comm* c) {
  return fail(call, c,
              error(MPI_ERR_IN_STATUS,
                    "at least one of the requests has an error; see MPI_ERROR of its status"));
}

Comm* first_comm(Requests& list) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] && comm_of(list[i])) return comm_of(list[i]);
  return nullptr;
}

int finish_all(const char* call, MPI_Request* handles, Requests& list, MPI_Status* statuses) {
  KeepComm keep(first_comm(list));
  int collected;
  if (__builtin_expect(collect_list(call, handles, list, nullptr, statuses, &collected), 0))
    return in_status(call, keep.comm);
  return MPI_SUCCESS;
}

int finish_some(const char* call, MPI_Request* handles, Requests& list, int* outcount, int* indices,
                MPI_Status* statuses) {
  KeepComm keep(first_comm(list));
  if (collect_list(call, handles, list, indices, statuses, outcount))
    return in_status(call, keep.comm);
  return MPI_SUCCESS;
}

/// Lets other ranks run once; true when all (or with `any`: one) of the list are complete.
bool test_list(Requests& list, bool any, const char* call) {
  for (int round = 0;; ++round) {
    bool every = true, one = false;
    for (size_t i = 0; i < list.size(); ++i) {
      if (!list[i]) continue;
      if (!list[i]->complete() && list[i]->polled) list[i]->progress();
      (list[i]->complete() ? one : every) = list[i]->complete();
    }
    bool enough = any ? one : every;
    if (enough || round == 1) return enough;
    pt2pt::let_others_run_after_test(list.data(), list.size(), call);
  }
}

size_t first_complete(Requests& list) {
  size_t i = 0;
  while (i < list.size() && !(list[i] && list[i]->complete())) ++i;
  return i;
}

/// Polls those requests that make progress only when they are polled; true when one of them is not
/// complete.
bool poll_list(Requests& list) {
  bool incomplete = false;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i] || !list[i]->polled || list[i]->complete()) continue;
    list[i]->progress();
    incomplete |= !list[i]->complete();
  }
  return incomplete;
}

/// Waits or tests for the _any and _some forms. Complete requests that are not to be returned are
/// removed from the list, if a decider decides that (pt2pt/message_decider.h). False: none is
/// complete.
template <bool kWaits>
bool find_complete(Requests& list, pt2pt::Wanted wanted, const char* call) {
  if (__builtin_expect(pt2pt::decided_by_others(list.data(), list.size()), 0)) {
    std::vector<uint32_t> chosen;
    const auto complete = [&](bool waits) {
      return pt2pt::g_message_decider->complete(list.data(), list.size(), wanted, waits, call,
                                                &chosen);
    };
    // A wait that has to poll is a loop of tests.
    for (bool polls = poll_list(list); !complete(kWaits && !polls); polls = poll_list(list))
      if (!kWaits) return false;
    for (uint32_t i = 0; i < list.size(); ++i)
      if (!std::binary_search(chosen.begin(), chosen.end(), i)) list[i] = nullptr;
    return true;
  }
  if (!kWaits) return test_list(list, true, call);
  pt2pt::wait_any(list.data(), list.size(), call);
  return true;
}

/// Implements MPI_Waitany and MPI_Testany; only the latter has a flag.
template <bool kWaits>
int complete_any(const char* call, int count, MPI_Request* requests, int* index, int* flag,
                 MPI_Status* status) {
  FGMPI_RETURN_IF(call, nullptr, check_pointer(index, "index"));
  if (!kWaits) FGMPI_RETURN_IF(call, nullptr, check_pointer(flag, "flag"));
  if (!kWaits && pt2pt::in_vain_again(requests, count, call)) {
    *index = MPI_UNDEFINED;
    *flag = 0;
    return MPI_SUCCESS;
  }
  Requests list(count);
  FGMPI_RETURN_IF(call, nullptr, find_requests(count, requests, &list));
  *index = MPI_UNDEFINED;
  if (list.none()) {
    if (!kWaits) *flag = 1, sched::count_idle_call();
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  const bool found = find_complete<kWaits>(list, pt2pt::Wanted::kOne, call);
  if (!kWaits) *flag = found;
  if (!found) {
    pt2pt::remember_tested(requests, count);
    return MPI_SUCCESS;
  }
  const size_t i = first_complete(list);
  *index = static_cast<int>(i);
  return collect_one(call, &requests[i], list[i], status);
}

/// Implements MPI_Waitsome and MPI_Testsome.
template <bool kWaits>
int complete_some(const char* call, int count, MPI_Request* requests, int* outcount, int* indices,
                  MPI_Status* statuses) {
  FGMPI_RETURN_IF(call, nullptr, check_pointer(outcount, "outcount"));
  if (!kWaits && indices && pt2pt::in_vain_again(requests, count, call)) {
    *outcount = 0;
    return MPI_SUCCESS;
  }
  Requests list(count);
  FGMPI_RETURN_IF(call, nullptr, find_requests(count, requests, &list));
  if (list.none()) {
    if (!kWaits) sched::count_idle_call();
    *outcount = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  FGMPI_RETURN_IF(call, nullptr, check_pointer(indices, "array_of_indices"));
  *outcount = 0;
  if (!find_complete<kWaits>(list, pt2pt::Wanted::kSome, call)) {
    pt2pt::remember_tested(requests, count);
    return MPI_SUCCESS;
  }
  return finish_some(call, requests, list, outcount, indices, statuses);
}

/// Whether all of the list are complete, after other ranks have run once if need be.
bool test_all(Requests& list, const char* call) {
  if (__builtin_expect(pt2pt::decided_by_others(list.data(), list.size()), 0)) {
    poll_list(list);
    return pt2pt::g_message_decider->complete(list.data(), list.size(), pt2pt::Wanted::kAll, false,
                                              call, nullptr);
  }
  return test_list(list, false, call);
}

/// Fills the status of a complete request and leaves the request as it is. Returns the error code
/// of a generalized request's query function; MPI_SUCCESS for all others.
int report_complete(Request* r, MPI_Status* status) {
  r->reported_complete = true;
  const int code = r->fill_status(status == MPI_STATUS_IGNORE ? nullptr : status);
  if (code >= 0) return code;
  set_status(status, r->outcome);
  return MPI_SUCCESS;
}

/// report_complete() for the _all and _some forms, whose statuses have errors. The error of an
/// operation is only in its status: the call that completes the request returns it, too (MPI-5.0
/// section 3.7.6 names no error of these calls). Returns false when a query function has failed.
bool report_in_list(const char* call, Request* r, MPI_Status* status) {
  const int code = report_complete(r, status);
  if (status != MPI_STATUS_IGNORE)
    status->MPI_ERROR =
        code != MPI_SUCCESS || r->outcome.error.ok() ? code : code_of(call, r->outcome.error);
  return code == MPI_SUCCESS;
}

}  // namespace

FGMPI_EXPORT(MPI_Wait);
int PMPI_Wait(MPI_Request* request, MPI_Status* status) {
  sched::maybe_force_switch();
  FGMPI_TAKE_TURN("MPI_Wait", PMPI_Wait(request, status));
  constexpr const char* kCall = "MPI_Wait";
  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(request, "request"));
  Request* r;
  FGMPI_RETURN_IF(kCall, nullptr, find_request(*request, -1, &r));
  if (!r) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  pt2pt::wait(r, kCall);
  return collect_one(kCall, request, r, status);
}

FGMPI_EXPORT(MPI_Test);
int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  FGMPI_TAKE_TURN("MPI_Test", PMPI_Test(request, flag, status));
  sched::count_call();
  constexpr const char* kCall = "MPI_Test";
  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(request, "request"));
  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(flag, "flag"));
  Request* r;
  FGMPI_RETURN_IF(kCall, nullptr, find_request(*request, -1, &r));
  if (!r) {
    sched::count_idle_call();
    *flag = 1;
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  *flag = pt2pt::test(r, kCall);
  return *flag ? collect_one(kCall, request, r, status) : MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Waitall);
int PMPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  sched::maybe_force_switch();
  FGMPI_TAKE_TURN("MPI_Waitall", PMPI_Waitall(count, requests, statuses));
  constexpr const char* kCall = "MPI_Waitall";
  Requests list(count);
  FGMPI_RETURN_IF(kCall, nullptr, find_requests(count, requests, &list));
  pt2pt::wait_all(list.data(), list.size(), kCall);
  return finish_all(kCall, requests, list, statuses);
}

FGMPI_EXPORT(MPI_Testall);
int PMPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  FGMPI_TAKE_TURN("MPI_Testall", PMPI_Testall(count, requests, flag, statuses));
  sched::count_call();
  constexpr const char* kCall = "MPI_Testall";
  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(flag, "flag"));
  if (pt2pt::in_vain_again(requests, count, kCall)) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  Requests list(count);
  FGMPI_RETURN_IF(kCall, nullptr, find_requests(count, requests, &list));
  if (list.none()) sched::count_idle_call();
  *flag = test_all(list, kCall);
  if (*flag) return finish_all(kCall, requests, list, statuses);
  pt2pt::remember_tested(requests, count);
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Waitany);
int PMPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  sched::maybe_force_switch();
  FGMPI_TAKE_TURN("MPI_Waitany", PMPI_Waitany(count, requests, index, status));
  return complete_any<true>("MPI_Waitany", count, requests, index, nullptr, status);
}

FGMPI_EXPORT(MPI_Testany);
int PMPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  FGMPI_TAKE_TURN("MPI_Testany", PMPI_Testany(count, requests, index, flag, status));
  sched::count_call();
  return complete_any<false>("MPI_Testany", count, requests, index, flag, status);
}

FGMPI_EXPORT(MPI_Waitsome);
int PMPI_Waitsome(int incount, MPI_Request requests[], int* outcount, int indices[],
                  MPI_Status statuses[]) {
  sched::maybe_force_switch();
  FGMPI_TAKE_TURN("MPI_Waitsome", PMPI_Waitsome(incount, requests, outcount, indices, statuses));
  return complete_some<true>("MPI_Waitsome", incount, requests, outcount, indices, statuses);
}

FGMPI_EXPORT(MPI_Testsome);
int PMPI_Testsome(int incount, MPI_Request requests[], int* outcount, int indices[],
                  MPI_Status statuses[]) {
  FGMPI_TAKE_TURN("MPI_Testsome", PMPI_Testsome(incount, requests, outcount, indices, statuses));
  sched::count_call();
  return complete_some<false>("MPI_Testsome", incount, requests, outcount, indices, statuses);
}

FGMPI_EXPORT(MPI_Request_get_status);
int PMPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  FGMPI_TAKE_TURN("MPI_Request_get_status", PMPI_Request_get_status(request, flag, status));
  sched::count_call();
  constexpr const char* kCall = "MPI_Request_get_status";
  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(flag, "flag"));
  Request* r;
  FGMPI_RETURN_IF(kCall, nullptr, find_request(request, -1, &r));
  *flag = 1;
  if (!r) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  *flag = pt2pt::test(r, kCall);
  if (!*flag) return MPI_SUCCESS;
  const int code = report_complete(r, status);
  return code == MPI_SUCCESS ? MPI_SUCCESS : fail_code(kCall, comm_of(r), code);
}

int fgmpi::mpi::request_get_status_all(const char* call, int count, const MPI_Request* requests,
                                       int* flag, MPI_Status* statuses) {
  Requests list(count);
  FGMPI_RETURN_IF(call, nullptr, check_pointer(flag, "flag"));
  FGMPI_RETURN_IF(call, nullptr, find_requests(count, requests, &list));
  *flag = test_all(list, call);
  if (!*flag) return MPI_SUCCESS;
  bool good = true;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i])
      good &= report_in_list(call, list[i], status_at(statuses, i));
    else
      set_empty_status(status_at(statuses, i));
  }
  return good ? MPI_SUCCESS : in_status(call, first_comm(list));
}

int fgmpi::mpi::request_get_status_any(const char* call, int count, const MPI_Request* requests,
                                       int* index, int* flag, MPI_Status* status) {
  Requests list(count);
  FGMPI_RETURN_IF(call, nullptr, check_pointer(index, "index"));
  FGMPI_RETURN_IF(call, nullptr, check_pointer(flag, "flag"));
  FGMPI_RETURN_IF(call, nullptr, find_requests(count, requests, &list));
  *index = MPI_UNDEFINED;
  *flag = 1;
  if (list.none()) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  *flag = find_complete<false>(list, pt2pt::Wanted::kOne, call);
  if (!*flag) return MPI_SUCCESS;
  const size_t i = first_complete(list);
  *index = static_cast<int>(i);
  const int code = report_complete(list[i], status);
  return code == MPI_SUCCESS ? MPI_SUCCESS : fail_code(call, comm_of(list[i]), code);
}

int fgmpi::mpi::request_get_status_some(const char* call, int count, const MPI_Request* requests,
                                        int* outcount, int* indices, MPI_Status* statuses) {
  Requests list(count);
  FGMPI_RETURN_IF(call, nullptr, check_pointer(outcount, "outcount"));
  FGMPI_RETURN_IF(call, nullptr, find_requests(count, requests, &list));
  *outcount = MPI_UNDEFINED;
  if (list.none()) return MPI_SUCCESS;
  FGMPI_RETURN_IF(call, nullptr, check_pointer(indices, "array_of_indices"));
  *outcount = 0;
  if (!find_complete<false>(list, pt2pt::Wanted::kSome, call)) return MPI_SUCCESS;
  bool good = true;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i] || !list[i]->complete()) continue;
    const int n = (*outcount)++;
    indices[n] = static_cast<int>(i);
    good &= report_in_list(call, list[i], status_at(statuses, static_cast<size_t>(n)));
  }
  return good ? MPI_SUCCESS : in_status(call, first_comm(list));
}

namespace {
/// Active collectives may be neither freed nor cancelled (MPI-4.0 section 6.12).
Status check_not_collective(const Request* r) {
  if (!r->active || !dynamic_cast<const coll::CollRequest*>(r)) return {};
  return error(MPI_ERR_REQUEST,
               "the request of %s is an active collective; allowed are inactive persistent "
               "collectives and requests of other calls",
               r->call);
}

/// A transfer of partitions, some of which may have been sent, cannot be cancelled at any point.
Status check_not_partitioned(const Request* r) {
  if (!pt2pt::is_partitioned(r)) return {};
  return error(MPI_ERR_REQUEST,
               "the request of %s is an active partitioned operation; allowed are requests of "
               "other sends and receives, and generalized ones",
               r->call);
}
}  // namespace

FGMPI_EXPORT(MPI_Request_free);
int PMPI_Request_free(MPI_Request* request) {
  FGMPI_TAKE_TURN("MPI_Request_free", PMPI_Request_free(request));
  sched::count_call();
  constexpr const char* kCall = "MPI_Request_free";
  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(request, "request"));
  Request* r = pt2pt::fast::find_request(*request);
  if (!r) return fail(kCall, nullptr, bad_request(*request, -1));
  FGMPI_RETURN_IF(kCall, comm_of(r), check_not_collective(r));
  if (r->polled) pt2pt::go_on_if_stalled(r);
  int code = r->complete() || !r->active ? r->release() : MPI_SUCCESS;
  pt2pt::free_request(r);
  *request = MPI_REQUEST_NULL;
  return code == MPI_SUCCESS ? MPI_SUCCESS : fail_code(kCall, nullptr, code);
}

FGMPI_EXPORT(MPI_Cancel);
int PMPI_Cancel(MPI_Request* request) {
  FGMPI_TAKE_TURN("MPI_Cancel", PMPI_Cancel(request));
  sched::count_call();
  constexpr const char* kCall = "MPI_Cancel";
  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(request, "request"));
  Request* r = pt2pt::fast::find_request(*request);
  if (!r) return fail(kCall, nullptr, bad_request(*request, -1));
  if (!r->active)
    return fail(kCall, comm_of(r),
                error(MPI_ERR_REQUEST,
                      "the persistent request is not active; allowed is one that was started"));
  FGMPI_RETURN_IF(kCall, comm_of(r), check_not_collective(r));
  FGMPI_RETURN_IF(kCall, comm_of(r), check_not_partitioned(r));
  if (r->complete() && !r->external && !r->polled) return MPI_SUCCESS;
  r->cancel();
  int code = r->cancel_code();
  return code == MPI_SUCCESS ? MPI_SUCCESS : fail_code(kCall, comm_of(r), code);
}

namespace {
Status start(MPI_Request handle, int index, Comm** comm) {
  Request* r = pt2pt::fast::find_request(handle);
  if (!r) return bad_request(handle, index);
  *comm = comm_of(r);
  if (!r->persistent) return error(MPI_ERR_REQUEST, "the request of %s is not persistent", r->call);
  if (r->active) return error(MPI_ERR_REQUEST, "the request of %s is active already", r->call);
  try {
    if (survivors::troubled() && *comm) FGMPI_TRY(survivors::check_usable(*comm));
    FGMPI_TRY(r->start());
    examine_posted();
    events::raise_started(r);
    return {};
  } catch (const std::bad_alloc&) {
    r->active = false;
    return error(MPI_ERR_NO_MEM, "no memory is left to start the request of %s", r->call);
  }
}
}  // namespace

FGMPI_EXPORT(MPI_Start);
int PMPI_Start(MPI_Request* request) {
  FGMPI_TAKE_TURN("MPI_Start", PMPI_Start(request));
  sched::count_call();
  constexpr const char* kCall = "MPI_Start";
  FGMPI_RETURN_IF(kCall, nullptr, check_pointer(request, "request"));
  Comm* c = nullptr;
  Status started = start(*request, -1, &c);
  return done(kCall, c, started);
}

FGMPI_EXPORT(MPI_Startall);
int PMPI_Startall(int count, MPI_Request requests[]) {
  FGMPI_TAKE_TURN("MPI_Startall", PMPI_Startall(count, requests));
  sched::count_call();
  constexpr const char* kCall = "MPI_Startall";
  FGMPI_RETURN_IF(kCall, nullptr, check_count(count));
  if (count > 0) FGMPI_RETURN_IF(kCall, nullptr, check_pointer(requests, "array_of_requests"));
  for (int i = 0; i < count; ++i) {
    Comm* c = nullptr;
    Status started = start(requests[i], i, &c);
    if (!started.ok()) return fail(kCall, c, started);
  }
  return MPI_SUCCESS;
}
