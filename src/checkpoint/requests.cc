// Virtual requests: how they are made and completed.
//
// MPI always has a request for a virtual one that is active, also where the operation has ended
// without MPI (a message that was taken in before): then it is a generalized request that is
// complete. So MPI chooses among the requests of a call, fills statuses and reports errors.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/checkpoint_link.h"
#include "base/hash.h"
#include "checkpoint/balance.h"
#include "checkpoint/stop.h"
#include "checkpoint/wrappers.h"

#pragma weak fgmpi_make_error_code

namespace fgmpi::checkpoint {

bool is_generalized(const VirtualRequest& request) {
  return request.call == kCall_MPI_Grequest_start || request.call == kCall_MPIX_Grequest_start ||
         request.call == kCall_MPIX_Grequest_class_allocate;
}

namespace {

constexpr uint32_t kFreedBeforeSweep = 64;

void count_type(LayerRank& rank, MPI_Datatype type, int by) {
  VirtualType* found = rank.types.find(type);
  if (!found) return;
  found->uses += static_cast<uint32_t>(by);
  if (found->uses > 0 || !found->freed) return;
  g_next.MPI_Type_free(&found->real);
  rank.types.remove(type);
}

void count_types(LayerRank& rank, const VirtualRequest& request, int by) {
  for (uint32_t left = kTypeArguments[request.call]; left != 0; left &= left - 1)
    count_type(rank, static_cast<MPI_Datatype>(request.words[__builtin_ctz(left)]), by);
  for (const VirtualRequest::KeptArray& array : request.arrays) {
    if (!array.types) continue;
    for (size_t at = 0; at < array.bytes.size(); at += sizeof(MPI_Datatype)) {
      MPI_Datatype type = MPI_DATATYPE_NULL;
      std::memcpy(&type, array.bytes.data() + at, sizeof type);
      count_type(rank, type, by);
    }
  }
}

/// Removes the requests whose operations have ended since the program has freed them.
void sweep_freed(LayerRank& rank) {
  std::vector<MPI_Request> ended;
  rank.requests.for_each([&](MPI_Request handle, VirtualRequest* request) {
    if (!request->freed || is_generalized(*request)) return;
    int flag = 0;
    MPI_Status status;
    const int code = g_next.MPI_Test(&request->real, &flag, &status);
    if (code == MPI_SUCCESS && !flag) return;
    if (request->receives && !request->outcome) count_taken(rank, code, &status);
    if (request->persistent) g_next.MPI_Request_free(&request->persistent_real);
    ended.push_back(handle);
  });
  rank.freed_requests -= static_cast<uint32_t>(ended.size());
  for (MPI_Request handle : ended) remove_request(rank, handle);
}

/// The operation of an active request has ended, and the program learns of it.
void finish(LayerRank& rank, MPI_Request* handle, VirtualRequest* request, int code,
            const MPI_Status* status) {
  if (request->receives && !request->outcome) count_taken(rank, code, status);
  int cancelled = 0;
  if (request->sends && g_next.MPI_Test_cancelled(status, &cancelled) == MPI_SUCCESS && cancelled)
    --rank.sent;
  if (request->made_at) *request->made_at = add_comm(rank, request->made);
  request->outcome.reset();
  request->is_complete = false;
  if (request->persistent) {
    request->active = false;
    request->real = request->persistent_real;
    return;
  }
  remove_request(rank, *handle);
  *handle = MPI_REQUEST_NULL;
}

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  g_next.MPI_Error_class(code, &error_class);
  return error_class;
}

/// The code of one request in a call for several, whose statuses have codes where it failed so.
int code_of_one(int code, const MPI_Status& status) {
  return code != MPI_SUCCESS && class_of(code) == MPI_ERR_IN_STATUS ? class_of(status.MPI_ERROR)
                                                                    : code;
}

/// A code with these words, where the library makes such.
int make_error_code(int error_class, const std::string& text) {
  return fgmpi_make_error_code ? fgmpi_make_error_code(error_class, text.c_str()) : error_class;
}

/// The requests of a call that may complete some of them.
class CompletionCall {
 public:
  CompletionCall(LayerRank& rank, const char* call, int n, MPI_Request* program)
      : rank_(rank),
        call_(call),
        program_(program),
        n_(program && n > 0 ? static_cast<size_t>(n) : 0) {
    if (n_ > few_.size()) {
      many_.resize(n_);
      real_ = many_.data();
    }
    look_up();
  }
  /// Finds MPI's requests again, after a rest.
  void look_up() {
    for (size_t i = 0; i < n_; ++i) real_[i] = real_of(rank_, Object::kRequest, program_[i]);
  }
  CompletionCall(const CompletionCall&) = delete;
  MPI_Request* real() { return program_ ? real_ : nullptr; }
  /// Request number i may have been completed by a call for one, which returned `code`. Returns the
  /// code of the call, which is another one where the operation had failed before.
  int done(size_t i, int code, const MPI_Status* status) {
    const int now = end(i, code, status);
    if (is_unhandled_) call_error_handler(now);
    return now;
  }
  /// Request number i was completed by a call for several, which returned `code`.
  void done_in_list(size_t i, int code, MPI_Status* status) {
    const int before = code_of_one(code, *status), now = end(i, before, status);
    if (now != before || code == MPI_SUCCESS) status->MPI_ERROR = now;
    failed_ |= now != before;
  }
  /// The code of such a call, once all that it has completed have ended: MPI's, which has its
  /// words, or one where only operations had failed that have ended without MPI.
  int code_of_list(int code) {
    if (!failed_ || code != MPI_SUCCESS) return code;
    code = make_error_code(
        MPI_ERR_IN_STATUS,
        std::string("Error code is in the status in ") + call_ +
            ": at least one of the requests has an error; see MPI_ERROR of its status");
    if (is_unhandled_) call_error_handler(code);
    return code;
  }
  size_t size() const { return n_; }
  /// Has an operation failed that has ended without MPI? Then its error is in its status only if
  /// the layer writes it there.
  bool has_failed() const {
    for (size_t i = 0; i < n_; ++i)
      if (error_of(i) != MPI_SUCCESS) return true;
    return false;
  }
  int error_of(size_t i) const {
    const VirtualRequest* request = rank_.requests.find(program_[i]);
    return request && request->outcome ? request->outcome->code : MPI_SUCCESS;
  }

 private:
  /// Ends request number i, where it is complete. Returns the code of its operation.
  int end(size_t i, int code, const MPI_Status* status) {
    if (i >= n_) return code;
    VirtualRequest* request = rank_.requests.find(program_[i]);
    if (!request) {
      program_[i] = real_[i];
      return code;
    }
    const bool ended =
        real_[i] == MPI_REQUEST_NULL || (request->persistent && code != MPI_ERR_PENDING);
    if (!request->active || !ended) return code;
    if (request->outcome) {
      code = request->outcome->code;
      is_unhandled_ |= code != MPI_SUCCESS && !request->outcome->handled;
    }
    if (comm_ == MPI_COMM_NULL) comm_ = comm_of(*request);
    finish(rank_, &program_[i], request, code, status);
    return code;
  }
  /// Calls the error handler that the library would call.
  void call_error_handler(int code) const {
    const MPI_Comm comm =
        comm_ == MPI_COMM_NULL ? MPI_COMM_WORLD : real_of(rank_, Object::kComm, comm_);
    g_next.MPI_Comm_call_errhandler(comm, code);
  }

  LayerRank& rank_;
  const char* call_;
  MPI_Request* program_;
  size_t n_;
  std::array<MPI_Request, 8> few_ = {};
  std::vector<MPI_Request> many_;
  MPI_Request* real_ = few_.data();
  MPI_Comm comm_ = MPI_COMM_NULL;  ///< virtual: of the first request that has one
  bool failed_ = false;            ///< a request had failed that has ended without MPI
  bool is_unhandled_ = false;      ///< and no error handler has been called for it
};

/// Ends all requests of a call, with their statuses. Returns the code of the call.
int end_all(CompletionCall& c, int code, MPI_Status* statuses) {
  for (size_t i = 0; i < c.size(); ++i) c.done_in_list(i, code, &statuses[i]);
  return c.code_of_list(code);
}

/// Statuses for all requests of a call, the program's or the layer's own.
class Statuses {
 public:
  Statuses(size_t n, MPI_Status* program) : statuses_(program) {
    if (program != MPI_STATUSES_IGNORE) return;
    own_.resize(std::max<size_t>(n, 1));
    statuses_ = own_.data();
  }
  MPI_Status* data() { return statuses_; }

 private:
  MPI_Status* statuses_;
  std::vector<MPI_Status> own_;
};

/// Has a receive with this error taken a message, which did not fit, say?
bool has_message(int error_class) {
  return error_class != MPI_ERR_REQUEST && error_class != MPI_ERR_PENDING &&
         error_class != MPIX_ERR_PROC_FAILED && error_class != MPIX_ERR_PROC_FAILED_PENDING &&
         error_class != MPIX_ERR_REVOKED;
}

int query_outcome(void* state, MPI_Status* status) {
  const auto* outcome = static_cast<RequestOutcome*>(state);
  const int error = status->MPI_ERROR;
  *status = outcome->status;
  status->MPI_ERROR = error;
  return MPI_SUCCESS;
}
int free_outcome(void*) { return MPI_SUCCESS; }
int cancel_outcome(void*, int) { return MPI_SUCCESS; }

}  // namespace

void make_complete(VirtualRequest* request) {
  g_next.MPI_Grequest_start(query_outcome, free_outcome, cancel_outcome, request->outcome.get(),
                            &request->real);
  g_next.MPI_Grequest_complete(request->real);
  request->is_complete = true;
}

void describe_error(RequestOutcome* outcome) {
  if (outcome->code == MPI_SUCCESS || !outcome->text.empty()) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  g_next.MPI_Error_string(outcome->code, text, &length);
  outcome->text = text;
}

void remake_error(RequestOutcome* outcome) {
  if (outcome->code != MPI_SUCCESS)
    outcome->code = make_error_code(class_of(outcome->code), outcome->text);
}

bool take_stored(LayerRank& rank, VirtualRequest* request) {
  switch (request->call) {
    case kCall_MPI_Irecv:
    case kCall_MPI_Irecv_c:
    case kCall_MPI_Recv_init:
    case kCall_MPI_Recv_init_c:
      break;
    default:
      return false;
  }
  // buf, count, datatype, source, tag, comm
  const int64_t* const w = request->words;
  const StoredMessage* stored = find_stored(rank, static_cast<MPI_Comm>(w[5]),
                                            static_cast<int>(w[3]), static_cast<int>(w[4]));
  if (!stored) return false;
  request->outcome = outcome_with_stored(rank, stored, argument<void*>(w[0]), w[1],
                                         static_cast<MPI_Datatype>(w[2]));
  make_complete(request);
  return true;
}

MPI_Request add_request(LayerRank& rank, std::unique_ptr<VirtualRequest> request) {
  if (rank.freed_requests >= kFreedBeforeSweep) sweep_freed(rank);
  VirtualRequest* made = request.get();
  const MPI_Request handle = rank.requests.add(std::move(request));
  if (made->persistent) made->persistent_real = made->real;
  made->made_order = made->order = rank.next_order++;
  if (made->persistent && kCollectives[made->call]) {
    uint64_t key = 0;
    if (const auto* begun = begun_on(rank, comm_of(*made), &key, &made->weight))
      made->key = mix(key, kNonblockingOrder + begun->nonblocking);
  }
  count_types(rank, *made, 1);
  return handle;
}

void remove_request(LayerRank& rank, MPI_Request request) {
  const VirtualRequest& removed = *rank.requests.find(request);
  if (removed.key != 0) note_freed(rank, removed.key, removed.weight);
  count_types(rank, removed, -1);
  rank.requests.remove(request);
}

void count_taken(LayerRank& rank, int code, const MPI_Status* status) {
  if (code != MPI_SUCCESS && !has_message(class_of(code))) return;
  int cancelled = 0;
  g_next.MPI_Test_cancelled(status, &cancelled);
  if (!cancelled && status->MPI_SOURCE != MPI_PROC_NULL && status->MPI_SOURCE != MPI_ANY_SOURCE)
    ++rank.taken;
}

void free_requests_left(LayerRank& rank) {
  rank.requests.for_each([&](MPI_Request, VirtualRequest* request) {
    if (request->freed && !is_generalized(*request)) g_next.MPI_Request_free(&request->real);
  });
}

namespace {

/// Waits until a call of MPI's for all, or one, of these requests returns at once. May switch.
void await(LayerRank& rank, const char* call, bool all, CompletionCall& c) {
  while (!await(rank, call, all, static_cast<int>(c.size()), c.real())) c.look_up();
}

int wait(LayerRank& rank, const char* call, MPI_Request* request, MPI_Status* status) {
  stop_point(rank, call);
  CompletionCall c(rank, call, 1, request);
  await(rank, call, true, c);
  MPI_Status own;
  MPI_Status* const told = status == MPI_STATUS_IGNORE ? &own : status;
  return c.done(0, g_next.MPI_Wait(c.real(), told), told);
}

int wait(MPI_Request* request, MPI_Status* status) {
  LayerRank* rank = current_rank();
  return rank ? wait(*rank, "MPI_Wait", request, status) : g_next.MPI_Wait(request, status);
}

}  // namespace

int wait_later(LayerRank& rank, const char* call, VirtualRequest&& made, MPI_Status* status) {
  MPI_Request request = add_request(rank, std::make_unique<VirtualRequest>(std::move(made)));
  return wait(rank, call, &request, status);
}

int wait_exchange(LayerRank& rank, const char* call, MPI_Request (&requests)[2], int code,
                  MPI_Status* status) {
  if (code != MPI_SUCCESS) {
    if (requests[0] == MPI_REQUEST_NULL) return code;
    MPI_Request real = real_of(rank, Object::kRequest, requests[0]);
    g_next.MPI_Cancel(&real);
    wait(rank, call, &requests[0], MPI_STATUS_IGNORE);
    return code;
  }
  const int received = wait(rank, call, &requests[0], status);
  const int sent = wait(rank, call, &requests[1], MPI_STATUS_IGNORE);
  return received != MPI_SUCCESS ? received : sent;
}

namespace {

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  LayerRank* rank = current_rank();
  if (!rank) return g_next.MPI_Test(request, flag, status);
  stop_point(*rank, "MPI_Test");
  CompletionCall c(*rank, "MPI_Test", 1, request);
  MPI_Status own;
  MPI_Status* const told = status == MPI_STATUS_IGNORE ? &own : status;
  const int code = g_next.MPI_Test(c.real(), flag, told);
  return flag && (code != MPI_SUCCESS || *flag) ? c.done(0, code, told) : code;
}

int wait_all(int count, MPI_Request* requests, MPI_Status* statuses) {
  LayerRank* rank = current_rank();
  if (!rank) return g_next.MPI_Waitall(count, requests, statuses);
  stop_point(*rank, "MPI_Waitall");
  CompletionCall c(*rank, "MPI_Waitall", count, requests);
  await(*rank, "MPI_Waitall", true, c);
  Statuses s(c.size(), statuses);
  return end_all(c, g_next.MPI_Waitall(count, c.real(), s.data()), s.data());
}

int test_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  LayerRank* rank = current_rank();
  if (!rank) return g_next.MPI_Testall(count, requests, flag, statuses);
  stop_point(*rank, "MPI_Testall");
  CompletionCall c(*rank, "MPI_Testall", count, requests);
  Statuses s(c.size(), statuses);
  const int code = g_next.MPI_Testall(count, c.real(), flag, s.data());
  return flag && (code != MPI_SUCCESS || *flag) ? end_all(c, code, s.data()) : code;
}

int wait_any(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  LayerRank* rank = current_rank();
  if (!rank) return g_next.MPI_Waitany(count, requests, index, status);
  stop_point(*rank, "MPI_Waitany");
  CompletionCall c(*rank, "MPI_Waitany", count, requests);
  await(*rank, "MPI_Waitany", false, c);
  MPI_Status own;
  MPI_Status* const told = status == MPI_STATUS_IGNORE ? &own : status;
  const int code = g_next.MPI_Waitany(count, c.real(), index, told);
  return index && *index >= 0 ? c.done(static_cast<size_t>(*index), code, told) : code;
}

int test_any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  LayerRank* rank = current_rank();
  if (!rank) return g_next.MPI_Testany(count, requests, index, flag, status);
  stop_point(*rank, "MPI_Testany");
  CompletionCall c(*rank, "MPI_Testany", count, requests);
  MPI_Status own;
  MPI_Status* const told = status == MPI_STATUS_IGNORE ? &own : status;
  const int code = g_next.MPI_Testany(count, c.real(), index, flag, told);
  const bool done = index && flag && (code != MPI_SUCCESS || *flag) && *index >= 0;
  return done ? c.done(static_cast<size_t>(*index), code, told) : code;
}

int get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
  LayerRank* rank = current_rank();
  if (!rank) return g_next.MPI_Request_get_status_all(count, requests, flag, statuses);
  stop_point(*rank, "MPI_Request_get_status_all");
  CompletionCall c(*rank, "MPI_Request_get_status_all", count, const_cast<MPI_Request*>(requests));
  const bool failed = statuses != MPI_STATUSES_IGNORE && c.has_failed();
  for (size_t i = 0; failed && i < c.size(); ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
  const int code = g_next.MPI_Request_get_status_all(count, c.real(), flag, statuses);
  if (code != MPI_SUCCESS || !failed || !*flag) return code;
  for (size_t i = 0; i < c.size(); ++i)
    if (const int error = c.error_of(i)) statuses[i].MPI_ERROR = error;
  return code;
}

int get_status_some(int count, const MPI_Request* requests, int* outcount, int* indices,
                    MPI_Status* statuses) {
  LayerRank* rank = current_rank();
  if (!rank)
    return g_next.MPI_Request_get_status_some(count, requests, outcount, indices, statuses);
  stop_point(*rank, "MPI_Request_get_status_some");
  CompletionCall c(*rank, "MPI_Request_get_status_some", count, const_cast<MPI_Request*>(requests));
  const bool failed = statuses != MPI_STATUSES_IGNORE && c.has_failed();
  for (size_t i = 0; failed && i < c.size(); ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
  const int code = g_next.MPI_Request_get_status_some(count, c.real(), outcount, indices, statuses);
  if (code != MPI_SUCCESS || !failed || *outcount == MPI_UNDEFINED) return code;
  for (int i = 0; i < *outcount; ++i)
    if (const int error = c.error_of(static_cast<size_t>(indices[i])))
      statuses[i].MPI_ERROR = error;
  return code;
}

/// MPI_Waitsome and MPI_Testsome.
template <class Next>
int some(Next next, const char* call, bool waits, int count, MPI_Request* requests, int* outcount,
         int* indices, MPI_Status* statuses) {
  LayerRank* rank = current_rank();
  if (!rank) return next(count, requests, outcount, indices, statuses);
  stop_point(*rank, call);
  CompletionCall c(*rank, call, count, requests);
  if (waits) await(*rank, call, false, c);
  Statuses s(c.size(), statuses);
  const int code = next(count, c.real(), outcount, indices, s.data());
  const bool known = code == MPI_SUCCESS || class_of(code) == MPI_ERR_IN_STATUS;
  if (!known || !outcount || *outcount == MPI_UNDEFINED) return code;
  for (int i = 0; i < *outcount; ++i)
    c.done_in_list(static_cast<size_t>(indices[i]), code, s.data() + i);
  return c.code_of_list(code);
}

NextCollective next_of(const VirtualRequest& request, NextCollective::Begins kind) {
  if (request.key == 0) return {};
  return {kind, comm_of(request), &request};
}

/// An active collective may be neither freed nor cancelled, also where it has ended without MPI.
int refuse_collective(const LayerRank& rank, const VirtualRequest& request) {
  g_next.MPI_Comm_call_errhandler(real_of(rank, Object::kComm, comm_of(request)), MPI_ERR_REQUEST);
  return MPI_ERR_REQUEST;
}

int free_request(MPI_Request* request) {
  LayerRank* rank = current_rank();
  VirtualRequest* found = rank && request ? rank->requests.find(*request) : nullptr;
  if (!found) return g_next.MPI_Request_free(request);
  stop_point(*rank, "MPI_Request_free", next_of(*found, NextCollective::Begins::kFreeRequest));
  if (found->active && found->outcome && kCollectives[found->call])
    return refuse_collective(*rank, *found);
  const bool of_messages = found->sends || found->receives;
  if (found->active && is_generalized(*found)) {
    MPI_Request real = found->real;  // the program completes it later
    const int code = g_next.MPI_Request_free(&real);
    found->freed = true;
    *request = MPI_REQUEST_NULL;
    return code;
  }
  if (!found->active || !of_messages) {
    const int code = g_next.MPI_Request_free(&found->real);
    if (found->real != MPI_REQUEST_NULL) return code;
    if (found->outcome && found->persistent) g_next.MPI_Request_free(&found->persistent_real);
    remove_request(*rank, *request);
    *request = MPI_REQUEST_NULL;
    return code;
  } else {
    // MPI keeps the request until its operation ends, so that its message is counted.
    found->freed = true;
    ++rank->freed_requests;
  }
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int complete_generalized(MPI_Request request) {
  LayerRank* rank = current_rank();
  VirtualRequest* found = rank ? rank->requests.find(request) : nullptr;
  if (!found) return g_next.MPI_Grequest_complete(request);
  const MPI_Request real = found->real;
  if (found->freed) remove_request(*rank, request);
  return g_next.MPI_Grequest_complete(real);
}

int cancel(MPI_Request* request) {
  LayerRank* rank = current_rank();
  if (!rank || !request) return g_next.MPI_Cancel(request);
  const VirtualRequest* found = rank->requests.find(*request);
  if (found && found->active && found->outcome && kCollectives[found->call])
    return refuse_collective(*rank, *found);
  MPI_Request real = real_of(*rank, Object::kRequest, *request);
  return g_next.MPI_Cancel(&real);
}

int start(MPI_Request* request) {
  LayerRank* rank = current_rank();
  VirtualRequest* found = rank && request ? rank->requests.find(*request) : nullptr;
  if (!found) return g_next.MPI_Start(request);
  if (!found->persistent || found->active) return g_next.MPI_Start(&found->real);  // an error
  stop_point(*rank, "MPI_Start", next_of(*found, NextCollective::Begins::kStart));
  if (take_stored(*rank, found)) {
    found->active = true;
    return MPI_SUCCESS;
  }
  const int code = g_next.MPI_Start(&found->real);
  if (code != MPI_SUCCESS) return code;
  found->active = true;
  found->order = rank->next_order++;
  if (found->sends) ++rank->sent;
  if (kCollectives[found->call]) ++found->starts;
  return code;
}

int start_all(int count, MPI_Request* requests) {
  if (!current_rank() || count < 0 || !requests) return g_next.MPI_Startall(count, requests);
  for (int i = 0; i < count; ++i)
    if (const int code = start(&requests[i]); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace fgmpi::checkpoint

using namespace fgmpi::checkpoint;

FGMPI_BOTH(MPI_Wait, (MPI_Request * request, MPI_Status* status), ended(wait(request, status)))
FGMPI_BOTH(MPI_Test, (MPI_Request * request, int* flag, MPI_Status* status),
           test(request, flag, status))
FGMPI_BOTH(MPI_Waitall, (int n, MPI_Request* requests, MPI_Status* statuses),
           ended(wait_all(n, requests, statuses)))
FGMPI_BOTH(MPI_Testall, (int n, MPI_Request* requests, int* flag, MPI_Status* statuses),
           test_all(n, requests, flag, statuses))
FGMPI_BOTH(MPI_Waitany, (int n, MPI_Request* requests, int* index, MPI_Status* status),
           ended(wait_any(n, requests, index, status)))
FGMPI_BOTH(MPI_Testany, (int n, MPI_Request* requests, int* index, int* flag, MPI_Status* status),
           test_any(n, requests, index, flag, status))
FGMPI_BOTH(MPI_Waitsome,
           (int n, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses),
           ended(some(g_next.MPI_Waitsome, "MPI_Waitsome", true, n, requests, done, indices,
                      statuses)))
FGMPI_BOTH(MPI_Testsome,
           (int n, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses),
           some(g_next.MPI_Testsome, "MPI_Testsome", false, n, requests, done, indices, statuses))
FGMPI_BOTH(MPI_Request_get_status_all,
           (int n, const MPI_Request* requests, int* flag, MPI_Status* statuses),
           get_status_all(n, requests, flag, statuses))
FGMPI_BOTH(MPI_Request_get_status_some,
           (int n, const MPI_Request* requests, int* done, int* indices, MPI_Status* statuses),
           get_status_some(n, requests, done, indices, statuses))
FGMPI_BOTH(MPI_Request_free, (MPI_Request * request), free_request(request))
FGMPI_BOTH(MPI_Grequest_complete, (MPI_Request request), complete_generalized(request))
FGMPI_BOTH(MPI_Cancel, (MPI_Request * request), cancel(request))
FGMPI_BOTH(MPI_Start, (MPI_Request * request), start(request))
FGMPI_BOTH(MPI_Startall, (int n, MPI_Request* requests), start_all(n, requests))
