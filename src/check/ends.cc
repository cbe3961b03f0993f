// Ends of ranks that are no errors of MPI calls: ranks that leave without MPI_Finalize, crashes in
// a call; and errors of calls that are not watched, such as those before MPI_Init.
#include <execinfo.h>

#include <cstring>
#include <iterator>

#include "base/count_words.h"
#include "base/modules.h"
#include "base/strings.h"
#include "check/call.h"
#include "check/extensions.h"

namespace fgmpi::check {
namespace {

constexpr int kMostFramesOfCall = 32;

/// The site in the program that has called MPI, by the call stack: the caller of the first function
/// that is neither the library's nor this one's. 0: unknown.
uint64_t site_by_stack() {
  void* frames[kMostFramesOfCall];
  const int n = backtrace(frames, kMostFramesOfCall);
  for (int i = 0; i < n; ++i) {
    if (in_same_module(frames[i], reinterpret_cast<void*>(&site_by_stack)) ||
        in_same_module(frames[i], reinterpret_cast<void*>(g_next.MPI_Barrier)))
      continue;
    return site_of(frames[i]);
  }
  return 0;
}

/// The name of the call in the text of an error: "Other error in MPI_Send: called before MPI_Init".
std::string name_in(const char* text) {
  const char* at = std::strstr(text, " in MPI");
  if (!at) return "a call of MPI";
  at += std::strlen(" in ");
  return std::string(at, std::strcspn(at, ": ("));
}

// ---- Leaving without MPI_Finalize ---------------------------------------------------------------

void rank_left(int status) {
  Rank* rank = current_rank();
  if (!rank || rank->ended) return;
  const int entered = g_process.threads ? MPIX_Tool_enter() : 0;
  // A rank that ends with an error does not say that it is done.
  if (status == 0) {
    findings::Participant init;
    init.rank = rank->world;
    init.call = kCalls[rank->init_call].name;
    init.site = rank->init_site;
    report(FindingKind::kLeaks, "a rank ends without MPI_Finalize",
           "each rank that has called MPI_Init calls MPI_Finalize before it ends", {init});
    rank_ends(rank);
  }
  MPIX_Tool_leave(entered);
}

// ---- Leaks of memory ----------------------------------------------------------------------------

/// A rank has ended, and nothing leads to memory that it has allocated here.
void memory_leaked(const void* place, MPI_Count blocks, MPI_Count bytes) {
  const Rank* rank = current_rank();
  if (!rank) return;
  const int entered = g_process.threads ? MPIX_Tool_enter() : 0;
  findings::Participant call;
  call.rank = rank->world;
  call.call = "an allocation";
  call.site = site_of(place);
  call.role = "of " + count_words(static_cast<uint64_t>(blocks), "block") + ", " +
              count_words(static_cast<uint64_t>(bytes), "byte");
  report(FindingKind::kLeaks, "memory is never freed, and no pointer leads to it any more", "",
         {call}, true);
  MPIX_Tool_leave(entered);
}

// ---- Crashes ------------------------------------------------------------------------------------

/// Is the address in a buffer that the call is given? Only buffers of one datatype are known.
bool is_in_buffer_of(const CallRecord& call, const void* address) {
  const CallInfo& info = call.info();
  for (unsigned set = info.sets.buffers; set; set &= set - 1) {
    const int i = __builtin_ctz(set);
    const Parameter& p = info.parameters[i];
    if (p.length < 0 || p.second < 0 || info.parameters[p.second].array ||
        info.parameters[p.length].what != ParameterUse::kCount)
      continue;
    const TypeLayout* l = layout_of(static_cast<MPI_Datatype>(call.words[p.second]));
    int64_t bytes = 0;
    if (!l || __builtin_mul_overflow(l->extent, call.words[p.length], &bytes)) continue;
    const auto distance =
        reinterpret_cast<uintptr_t>(address) - static_cast<uintptr_t>(call.words[i]);
    if (distance < static_cast<uintptr_t>(bytes)) return true;
  }
  return false;
}

struct BufferOwner {
  const Rank* rank = nullptr;
  const CallRecord* call = nullptr;
};

/// The call whose buffer has the address: a running one of any rank of the process, or one that has
/// begun a pending operation.
BufferOwner owner_of(const void* address) {
  const char* at = static_cast<const char*>(address);
  for (const auto& rank : g_process.all) {
    if (!rank) continue;
    if (rank->in_call && rank->current && is_in_buffer_of(*rank->current, address))
      return {rank.get(), rank->current};
    for (const PendingRegion& p : rank->regions) {
      if (at < p.low || at >= p.high) continue;
      if (auto op = rank->requests.find(p.request)) return {rank.get(), op->second.call.get()};
    }
  }
  return {};
}

/// Called in the handler of a signal, which survives what goes wrong here.
void rank_crashed(int signal_number, const void* address) {
  const Rank* rank = current_rank();
  const bool in_call = rank && rank->in_call && rank->current;
  const BufferOwner owner = address ? owner_of(address) : BufferOwner();
  // The call began with a finding about its buffer (check_stack_end()).
  if (owner.call && owner.call == owner.rank->current && owner.rank->arguments_told) return;
  const char* words = sigdescr_np(signal_number);
  std::vector<findings::Participant> calls;
  if (owner.call) calls.push_back(participant(owner.rank, *owner.call, "is given the buffer"));
  if (in_call && rank->current != owner.call)
    calls.push_back(participant(rank, *rank->current, "crashes"));
  if (calls.empty() || (!owner.call && !in_call)) return;
  report(FindingKind::kArguments,
         owner.call ? "a buffer reaches into memory that is not there"
                    : std::string("a rank crashes in a call of MPI: ") +
                          (words ? words : "unknown signal"),
         owner.call ? "count elements of the datatype are in memory of the program" : "",
         std::move(calls));
}

}  // namespace

void follow_ends() {
  if (MPIX_Tool_ends) MPIX_Tool_ends(rank_left, rank_crashed);
  if (MPIX_Tool_leaks && kinds_asked() & findings::bit_of(FindingKind::kLeaks))
    MPIX_Tool_leaks(memory_leaked);
}

void report_unwatched_error(const Rank* rank, const char* text) {
  if (!g_process.on) open_spool();
  findings::Participant call;
  call.rank = rank ? rank->world : -1;
  call.call = name_in(text);
  call.site = site_by_stack();
  if (std::strstr(text, "called before MPI_Init or after MPI_Finalize")) {
    const bool after = rank && rank->ended;
    report(FindingKind::kArguments,
           after ? "MPI is called after MPI_Finalize" : "MPI is called before MPI_Init",
           "MPI_Initialized, MPI_Finalized and MPI_Get_version are among the few calls that are "
           "allowed then",
           {call});
  } else if (rank) {
    report(FindingKind::kArguments, text, "", {call});
  }
}

}  // namespace fgmpi::check
