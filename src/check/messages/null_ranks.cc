// Sources and destinations that ranks gave, written to the spool for readers/findings/null_ranks.h.
#include <map>
#include <set>

#include "base/hash.h"
#include "base/strings.h"
#include "check/call.h"

namespace fgmpi::check {
namespace {

/// Limits for one process and argument of a call: more differences from the own rank, or more ranks
/// that give MPI_PROC_NULL, would add no information.
constexpr size_t kMostDifferences = 3, kMostNull = 8;

struct Written {
  std::set<int64_t> differences;
  size_t null = 0;
};
std::map<uint64_t, Written> g_written;  ///< by argument of a call

/// Does this value add information about the argument?
bool is_news(uint64_t place, int64_t rank, int64_t value) {
  Written& written = g_written[place];
  if (value == MPI_PROC_NULL) return ++written.null <= kMostNull;
  return written.differences.size() < kMostDifferences &&
         written.differences.insert(value - rank).second;
}

/// `own`: the caller's rank in the communicator or window.
void write_down(Rank* rank, const CallRecord& call, int own, int position) {
  const int64_t value = call.words[position];
  if (value < 0 && value != MPI_PROC_NULL) return;  // MPI_ANY_SOURCE
  const uint64_t line = mix(mix(call.site, call.id), static_cast<uint64_t>(position));
  if (!is_news(line, own, value)) return;
  const uint64_t key = mix(line, static_cast<uint64_t>(rank->world)) | 1;
  g_process.spool.add_waiting(key, {participant(rank, call)});
  g_process.spool.add_rank(format("%llx %d %lld %llx", static_cast<unsigned long long>(line), own,
                                  static_cast<long long>(value),
                                  static_cast<unsigned long long>(key)));
}

}  // namespace

void write_rank_given(Rank* rank, const CallRecord& call) {
  if (!g_process.wants(FindingKind::kArguments)) return;
  const CallInfo& info = call.info();
  if (info.at.target >= 0) {
    const auto window = rank->epochs.find(window_of(call));
    if (window != rank->epochs.end() && window->second.rank >= 0)
      write_down(rank, call, window->second.rank, info.at.target);
    return;
  }
  if (info.role < kFirstOfMessages || info.role > kLastOfMessages || info.at.comm < 0) return;
  // MPI may be finalized, so it is not called here.
  const auto own = rank->comms.find(static_cast<MPI_Comm>(call.at(info.at.comm)));
  // MPI_Cart_shift returns MPI_PROC_NULL.
  if (own == rank->comms.end() || own->second.has_topology) return;
  for (int8_t position : {info.at.dest, info.at.source})
    if (position >= 0) write_down(rank, call, own->second.rank, position);
}

void write_ranks_given(Rank* rank, MPI_Comm comm) {
  for (auto& ways : rank->remembered)
    for (const SharedCall& one : ways)
      if (one && (comm == MPI_COMM_NULL || one->at(one->info().at.comm) == word(comm)))
        write_rank_given(rank, *one);
}

void write_targets_given(Rank* rank, MPI_Win window) {
  for (auto& ways : rank->remembered)
    for (const SharedCall& one : ways)
      if (one && one->info().at.target >= 0 && window_of(*one) == window)
        write_rank_given(rank, *one);
}

}  // namespace fgmpi::check
