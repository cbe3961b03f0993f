// Threads: calls that the thread level does not allow, and simultaneous calls of two threads of a
// rank that MPI forbids at every level.
#include <algorithm>
#include <cstring>

#include "check/call.h"

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

}  // namespace

bool may_call(Rank* rank, Calls id, const void* place, const int64_t* words) {
  if (rank->level >= MPI_THREAD_SERIALIZED) return true;
  int level = rank->level;
  g_next.MPI_Query_thread(&level);  // a session may have been granted a higher level meanwhile
  if (level >= MPI_THREAD_SERIALIZED) return true;
  if (is_always_safe(kCalls[id])) return false;
  CallRecord record;
  record.id = id;
  record.site = site_of(place);
  std::memcpy(record.words, words, sizeof(int64_t) * kCalls[id].count);
  const bool single = rank->level == MPI_THREAD_SINGLE;
  report(FindingKind::kThreads,
         single ? "a thread calls MPI that did not call MPI_Init, at MPI_THREAD_SINGLE"
                : "a thread calls MPI that did not call MPI_Init_thread, at MPI_THREAD_FUNNELED",
         "only the thread that called MPI_Init; MPI_Init_thread grants more",
         {participant(rank, record)});
  return false;
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
