// The order of accesses to windows: what the library asks for, and tells, as MPIX_Tool_order says.
//
// Each event of a rank advances its own component of the vector clock (Rank::events). What the
// library tells of windows is a component of its own, a time: the rank may know of all events
// before it. Messages and collectives carry both. Across processes collectives only count, so an
// event also has the counts that its rank knew: a rank that knows a larger count may know of the
// event.
#include <algorithm>

#include "check/call.h"
#include "check/extensions.h"
#include "check/memory/accesses.h"

namespace fgmpi::check {
namespace {

/// Positions in MPIX_Tool_event: kMostComms communicators, by name and count.
constexpr size_t kMostComms = 4;
enum EventWord { kEvent, kFirstComm, kMoreComms = kFirstComm + 2 * kMostComms };
static_assert(sizeof(MPIX_Tool_event) == (kMoreComms + 1) * sizeof(uint64_t));

bool is_order_known() {
  return g_process.follows_order() && !g_process.makes_others && !g_process.opens_groups;
}

void stamp_event(MPIX_Tool_event* now, int fresh) {
  Rank* rank = current_rank();
  *now = {};
  if (!rank || !is_order_known()) return;
  now->words[kEvent] = fresh ? next_event(rank) : rank->events;
  size_t comms = 0;
  rank->knows.for_each_comm([&](const ClockPart& part) {
    if (comms < kMostComms) {
      now->words[kFirstComm + 2 * comms] = part.of;
      now->words[kFirstComm + 2 * comms + 1] = part.count;
    }
    ++comms;
  });
  now->words[kMoreComms] = comms > kMostComms;
}

int is_ordered_before(int world, const MPIX_Tool_event* event, long long time) {
  const Rank* rank = current_rank();
  if (!rank || !is_order_known() || event->words[kMoreComms]) return 1;
  const Knowledge& knows = rank->knows;
  if (known(knows.clock, of_rank(world)) >= event->words[kEvent]) return 1;
  if (knows.count_of(kOfTime) >= static_cast<uint64_t>(time)) return 1;
  bool newer = false;
  knows.for_each_comm([&](const ClockPart& part) {
    uint64_t then = 0;
    for (size_t i = 0; i < kMostComms; ++i)
      if (event->words[kFirstComm + 2 * i] == part.of)
        then = std::max<uint64_t>(then, event->words[kFirstComm + 2 * i + 1]);
    newer = newer || part.count > then;
  });
  return newer;
}

void learn_time(Rank* rank, long long time) {
  if (rank && is_order_known()) rank->knows.learn_named({kOfTime, static_cast<uint64_t>(time)});
}

/// The checker asks the library what others have changed (learn_of_updates).
thread_local bool t_learns_of_updates = false;

/// The library has something that the rank may know of now. What others have changed by the time of
/// an operation the rank knows only if learn_of_updates() has said so before.
void told_of(long long time) {
  Rank* rank = current_rank();
  const CallRecord* call = call_here(rank);
  const bool is_operation = call && call->info().at.target >= 0 && call->info().sets.buffers;
  if (t_learns_of_updates || !is_operation || time == INT64_MAX) learn_time(rank, time);
}

/// The part of a buffer in memory of the rank's windows begins at its address. A buffer of a
/// derived type may begin elsewhere; then it counts as if it were ordered with all later calls.
bool is_in_window(const Rank& rank, int64_t address) {
  const auto at = static_cast<uintptr_t>(address);
  for (const Exposed& e : rank.windows)
    if (e.own && e.meets(at, 1)) return true;
  return false;
}

}  // namespace

void follow_order() {
  static const MPIX_Tool_order order = {stamp_event, is_ordered_before, told_of};
  if (MPIX_Tool_orders) MPIX_Tool_orders(&order);
}

void learn_of_windows(CheckedCall* call) {
  if (call->nested()) return;
  Rank* rank = call->rank();
  const bool uses = uses_windows(*call);
  if (uses && rank->owned) rank->owned->record_load();
  learn_of_updates_quickly(rank);
  if (uses) next_event(rank);
}

/// Where loads of the program are seen, it learns only by these of what others have done.
void learn_of_updates(Rank* rank) {
  if (!MPIX_Tool_updates || (g_process.has_facts && rank->owned && !rank->owned->take_loads()))
    return;
  for (const long long* time : rank->update_times)
    rank->updates_known = std::max(rank->updates_known, __atomic_load_n(time, __ATOMIC_RELAXED));
  t_learns_of_updates = true;
  MPIX_Tool_updates();
  t_learns_of_updates = false;
}

bool uses_windows(const CheckedCall& call) {
  const Rank* rank = call.rank();
  if (!rank->has_windows) return false;
  for (unsigned set = call.info().sets.buffers; set; set &= set - 1)
    if (is_in_window(*rank, call.at(__builtin_ctz(set)))) return true;
  return false;
}

void learn_everything(Rank* rank) {
  if (g_process.has_windows && is_order_known()) learn_time(rank, INT64_MAX);
}

void record_used_memory(Rank* rank, const CallRecord& call, const Regions& regions,
                        const MPI_Status* status) {
  const CallInfo& info = call.info();
  if (info.at.target >= 0 || !MPIX_Tool_used) return;
  int received = -1;
  if (is_message(info)) {
    if (!status) return;
    g_next.MPI_Get_count(status, MPI_BYTE, &received);
  }
  auto used = [&](const char* low, int64_t bytes) {
    if (bytes <= 0 || !is_in_window(*rank, word(low))) return;
    MPIX_Tool_used(low, bytes, 1, info.name, call.site);
    const auto first = reinterpret_cast<uintptr_t>(low);
    record_change(rank, first, first + static_cast<uintptr_t>(bytes),
                  participant(rank, call, "has changed the memory"));
  };
  for (const Region& r : regions) {
    if (!r.writes) continue;
    const int64_t bytes = r.high - r.low;  // a part of a buffer with gaps is left out
    if (r.exact)
      used(r.low, received < 0 ? bytes : std::min<int64_t>(bytes, received));
    else if (const TypeLayout* l = layout_of(r.type);
             received < 0 || (l && received == l->size * r.count))
      for (const ByteBlock& b : r.blocks) used(r.base + b.offset, b.bytes);
  }
}

void record_used_memory_after(CheckedCall* call) {
  const CallInfo& info = call->info();
  if (call->nested() || info.starts != Starts::kBlocking || info.at.target >= 0) return;
  for (unsigned set = info.sets.buffers; set; set &= set - 1) {
    const int i = __builtin_ctz(set);
    if (info.parameters[i].what == ParameterUse::kRead || !is_in_window(*call->rank(), call->at(i)))
      continue;
    return record_used_memory(call->rank(), call->record(), buffers_of(call),
                              call->written_status());
  }
}

}  // namespace fgmpi::check
