// Threads: calls that the thread level does not allow, and simultaneous calls of two threads of a
// rank that MPI forbids at every level.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "check/call.h"
#include "check/memory/accesses.h"

namespace fgmpi::check {
namespace {

/// Must all members make the call, which returns only when they have?
bool is_blocking_collective(const CheckedCall& call) {
  const CallInfo& info = call.info();
  return (info.role == CallRole::kCollective || info.role == CallRole::kCreation) &&
         info.starts == Starts::kBlocking && info.at.comm >= 0;
}

void check_two_calls(CheckedCall* call, const CheckedCall& other) {
  if (call->rank()->level < MPI_THREAD_MULTIPLE) {
    report(FindingKind::kThreads, "two threads of a rank call MPI at the same time",
           "at MPI_THREAD_SERIALIZED one thread calls after the other has returned",
           {call->me(), other.me("has not returned")});
  } else if (is_blocking_collective(*call) && is_blocking_collective(other) &&
             call->value(&Positions::comm) == other.value(&Positions::comm)) {
    report(FindingKind::kThreads,
           "two threads of a rank make collective calls on one communicator at the same time",
           "the program puts them into an order, or each thread has a communicator of its own",
           {call->me(), other.me("has not returned")});
  }
}

/// Reports a request that two calls complete at once. The other call has removed its requests from
/// the table, so one that is there is new.
void check_shared_requests(CheckedCall* call, const CheckedCall& other) {
  for (MPI_Request handle : call->requests()) {
    if (handle == MPI_REQUEST_NULL || call->rank()->requests.contains(handle)) continue;
    const auto others = other.requests();
    if (std::ranges::find(others, handle) == others.end()) continue;
    report(FindingKind::kThreads,
           "two threads of a rank complete the same request at the same time",
           "a request is completed by one thread", {call->me(), other.me("has not returned")});
    return;
  }
}

/// May any thread make the call at any time, at every level (MPI-4.0 section 11.4.1)? The other
/// functions of that list have no wrapper.
bool is_always_safe(const CallInfo& info) {
  return !std::strncmp(info.name, "MPI_Info_", 9) ||
         !std::strncmp(info.name, "MPI_Session_c", 13) ||
         !std::strcmp(info.name, "MPI_Errhandler_free");
}

/// Calls that the level does not allow, until a thread that may use the checker reports them.
struct ForbiddenCall {
  const Rank* rank;
  CallRecord record;
  const void* place;
};
AccessSpinLock g_forbidden_lock;
std::vector<ForbiddenCall>& g_forbidden = *new std::vector<ForbiddenCall>;
std::atomic<bool> g_any_forbidden = false;

/// Ends the job: MPI does not let the call through, and would run other ranks in this thread while
/// it words the error. Only the first of several threads goes on.
void end_forbidden_call() {
  static std::atomic<bool> is_ending = false;
  while (is_ending.exchange(true)) pause();
  report_forbidden_calls();
  g_next.MPI_Abort(MPI_COMM_WORLD, 1);
}

}  // namespace

bool may_call(Rank* rank, Calls id, const void* place, const int64_t* words) {
  if (rank->level >= MPI_THREAD_SERIALIZED) return true;
  int level = rank->level;
  // A session may have been granted a higher level meanwhile.
  if (rank->sessions > 0) g_next.MPI_Query_thread(&level);
  if (level >= MPI_THREAD_SERIALIZED) return true;
  if (is_always_safe(kCalls[id])) return false;
  CallRecord record;
  record.id = id;
  std::memcpy(record.words, words, sizeof(int64_t) * kCalls[id].count);
  {
    std::lock_guard guard(g_forbidden_lock);
    g_forbidden.push_back({rank, record, place});
  }
  g_any_forbidden.store(true, std::memory_order_release);
  g_attention.fetch_or(kArrived, std::memory_order_release);
  if (kCalls[id].role != CallRole::kOther || kCalls[id].hides_order) end_forbidden_call();
  return false;
}

void report_forbidden_calls() {
  if (!g_any_forbidden.exchange(false, std::memory_order_acquire)) return;
  std::vector<ForbiddenCall> list;
  {
    std::lock_guard guard(g_forbidden_lock);
    list.swap(g_forbidden);
  }
  for (ForbiddenCall& call : list) {
    const Rank* rank = call.rank;
    call.record.site = site_of(call.place);
    report(FindingKind::kThreads,
           rank->level == MPI_THREAD_SINGLE
               ? "a thread calls MPI that did not call MPI_Init, at MPI_THREAD_SINGLE"
               : "a thread calls MPI that did not call MPI_Init_thread, at MPI_THREAD_FUNNELED",
           "only the thread that called MPI_Init; MPI_Init_thread grants more",
           {participant(rank, call.record)});
  }
}

void enter_call(CheckedCall* call) {
  Rank* rank = call->rank();
  for (const CheckedCall* other : rank->inside)
    if (!pthread_equal(other->thread(), call->thread())) check_two_calls(call, *other);
  rank->inside.push_back(call);
}

void leave_call(CheckedCall* call) { std::erase(call->rank()->inside, call); }

void check_concurrent_completions(CheckedCall* call) {
  for (const CheckedCall* other : call->rank()->inside)
    if (!pthread_equal(other->thread(), call->thread()) &&
        other->info().role == CallRole::kCompletion)
      check_shared_requests(call, *other);
}

}  // namespace fgmpi::check
