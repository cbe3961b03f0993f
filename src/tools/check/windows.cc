// Windows: accesses that conflict, of which the library tells (src/rma/check.h), and epochs.
#include <cstring>

#include "base/environment.h"
#include "base/strings.h"
#include "tools/check/call.h"
#include "tools/check/extensions.h"

namespace fgmpi::check {
namespace {

unsigned long long place_of_call() {
  const Rank* rank = current_rank();
  return rank && rank->current ? rank->current->site : 0;
}

enum class Verb : uint8_t { kReads, kWrites, kAccumulates };
Verb verb_of(const MPIX_Tool_access& access) {
  return *access.verb == 'r'   ? Verb::kReads
         : *access.verb == 'w' ? Verb::kWrites
                               : Verb::kAccumulates;
}

const char* sentence_of(Verb a, Verb b) {
  if (a > b) std::swap(a, b);
  if (b == Verb::kAccumulates)
    return a == b ? "accumulates of different operations or types use the same memory of a window "
                    "at the same time"
                  : "an accumulate and another access use the same memory of a window at the same "
                    "time";
  return a == b ? "two accesses write the same memory of a window at the same time"
                : "memory of a window is written that another access reads at the same time";
}

/// What is known of the arguments of a call that is not the running one. Calls but one-sided operations have no target.
std::string arguments_of(const MPIX_Tool_access& access) {
  for (const char* word : {"put", "Put", "get", "Get", "ccumulate", "Fetch_and_op", "Compare_and"})
    if (std::strstr(access.call, word)) return format("target_rank=%d", access.target);
  return "";
}

/// Runs in the library, in the call that makes the second access.
void on_conflict(const MPIX_Tool_access* second, const MPIX_Tool_access* first, const char* where) {
  const Rank* rank = current_rank();
  if (!g_process.on || !rank || !rank->current) return;
  const char* use = where ? where : "the same memory of its own";
  auto role = [&](const MPIX_Tool_access& access) {
    return where ? format("%s %s of the memory of rank %d", access.verb, use, access.target)
                 : format("%s it", access.verb);
  };
  findings::Participant now = participant(rank, *rank->current, role(*second).c_str());
  findings::Participant before{first->rank, first->call, arguments_of(*first), first->place,
                               role(*first)};
  std::vector<findings::Participant> calls = {std::move(now), std::move(before)};
  if (!where) {
    calls[1].role = format("%s it and is not complete", first->verb);
    report(Kind::kWindows,
           "the origin memory of a one-sided operation is used before it is complete",
           "it is the program's again when a flush or the end of the epoch has completed the "
           "operation",
           std::move(calls));
    return;
  }
  // Whichever comes first, it is one finding.
  if (calls[1].site < calls[0].site) std::swap(calls[0], calls[1]);
  report(
      Kind::kWindows, sentence_of(verb_of(*first), verb_of(*second)),
      "one ends its epoch, or flushes, and tells the other before that begins; or both accumulate "
      "with the same operation",
      std::move(calls));
}

MPI_Win window_of(const CallRecord& call) {
  const CallInfo& info = call.info();
  for (int i = 0; i < info.count; ++i) {
    const Parameter& p = info.parameters[i];
    if (p.object != Object::kWin || p.life == Life::kCreated) continue;
    return p.pointer ? *reinterpret_cast<const MPI_Win*>(call.words[i])
                     : static_cast<MPI_Win>(call.words[i]);
  }
  return MPI_WIN_NULL;
}

template <class Visit>
void for_each_call(const Epochs& epochs, Visit visit) {
  if (epochs.started) visit(*epochs.started, "MPI_Win_complete");
  if (epochs.posted) visit(*epochs.posted, "MPI_Win_wait");
  if (epochs.all_locked) visit(*epochs.all_locked, "MPI_Win_unlock_all");
  for (const auto& [target, call] : epochs.locked) visit(call, "MPI_Win_unlock");
}

}  // namespace

void follow_conflicts() {
  // g_process may not be there yet.
  uint32_t kinds = findings::kAllKinds;
  if (const char* given = environment::text(environment::kCheckKinds))
    findings::parse_kinds(given, &kinds);
  if (environment::text(environment::kCheckFolder) && MPIX_Tool_conflicts &&
      (kinds & findings::bit_of(Kind::kWindows)))
    MPIX_Tool_conflicts(place_of_call, on_conflict);
}

bool is_of_epochs(int error_class) {
  return error_class == MPI_ERR_RMA_SYNC || error_class == MPI_ERR_RMA_CONFLICT;
}

void note_epochs(Call* call) {
  const CallRecord& record = call->record();
  if (record.id == kCall_MPI_Win_free) {
    const int at = call->find("win");
    call->rank()->epochs.erase(static_cast<MPI_Win>(call->old[at]));
    return;
  }
  const MPI_Win window = window_of(record);
  if (window == MPI_WIN_NULL) return;
  Epochs& epochs = call->rank()->epochs[window];
  switch (record.id) {
    case kCall_MPI_Win_start:
      epochs.started = record;
      break;
    case kCall_MPI_Win_complete:
      epochs.started.reset();
      break;
    case kCall_MPI_Win_post:
      epochs.posted = record;
      break;
    case kCall_MPI_Win_test:
      if (*reinterpret_cast<const int*>(call->at(call->find("flag")))) epochs.posted.reset();
      break;
    case kCall_MPI_Win_wait:
      epochs.posted.reset();
      break;
    case kCall_MPI_Win_lock:
      if (const int64_t target = call->at(call->find("rank")); target != MPI_PROC_NULL)
        epochs.locked[target] = record;
      break;
    case kCall_MPI_Win_unlock:
      epochs.locked.erase(call->at(call->find("rank")));
      break;
    case kCall_MPI_Win_lock_all:
      epochs.all_locked = record;
      break;
    case kCall_MPI_Win_unlock_all:
      epochs.all_locked.reset();
      break;
    default:
      break;
  }
}

void add_epochs(const Rank* rank, const CallRecord& call,
                std::vector<findings::Participant>* calls) {
  if (auto found = rank->epochs.find(window_of(call)); found != rank->epochs.end())
    for_each_call(found->second, [&](const CallRecord& opening, const char*) {
      calls->push_back(participant(rank, opening, "has begun an epoch that is open"));
    });
}

void report_epochs_left(Rank* rank) {
  for (const auto& [window, epochs] : rank->epochs)
    for_each_call(epochs, [&](const CallRecord& opening, const char* end) {
      report(Kind::kWindows, format("an epoch of a window is never ended by %s", end),
             "an epoch ends before the window is freed", {participant(rank, opening)});
    });
}

}  // namespace fgmpi::check
