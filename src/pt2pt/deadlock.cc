// The deadlock report of this process: who waits for what. termination.cc decides when it is due.

#include <cstdio>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "base/settings.h"
#include "base/strings.h"
#include "ch4-av-rankmap/process_groups.h"
#include "proclet-sched/coroutine/deputies.h"
#include "proclet-sched/coroutine/packing.h"
#include "proclet-sched/coroutine/visitors.h"
#include "proclet-sched/threads/threads.h"
#include "pt2pt/buffer_limit.h"
#include "pt2pt/deadlock.h"
#include "pt2pt/sites.h"

namespace fgmpi::pt2pt {

namespace {

using Action = DeadlockAction;

static_assert(settings::has_choices(settings::kDeadlock, "abort|report|off"));

Action action() { return settings::choice<Action>(settings::kDeadlock); }

void (*g_tool_deadlock)() = nullptr;

struct DeadlockedRank {
  int64_t rank = -1;  ///< as Report names ranks
  std::string call, words;
  bool thread = false;  ///< a thread that does not run main
  bool away = false;    ///< a visitor of this process
  int64_t awaits = -1;  ///< the awaited rank, named likewise
};

/// The name in reports of the rank with this index in a process; -1: the rank is of another job.
int64_t name_in_report(uint32_t process, uint32_t local) {
  if (process >= g_av.processes()) return -1;
  const uint32_t global = g_av.global_of(process, local);
  if (global == AddressVector::kNoRange) return -1;
  const GroupRank g = g_process_groups.find_rank(static_cast<int32_t>(global));
  return Report::name(g.pgid == 0 ? 0 : g_process_groups.short_name(g.pgid), g.lpid);
}

/// Calls f(proclet, local index of its rank) for each parked rank, then for parked
/// threads of ranks.
template <class F>
void for_each_parked(F&& f) {
  for (uint32_t i = 0; i < sched::rank_count(); ++i) {
    sched::Proclet* p = sched::rank_proclet(i);
    if (p->state == sched::ProcletState::kParked && p->wait) f(p, i);
  }
  if (!sched::threads_enabled()) return;
  sched::for_each_waiting_thread(
      [](sched::Proclet* p, sched::Proclet* rank, void* visit) {
        (*static_cast<std::remove_reference_t<F>*>(visit))(p, rank->index);
      },
      &f);
}

bool part_of_deadlock() {
  bool any = false, all = true;
  // A tool may have woken a rank just now (MPIX_Tool_parked).
  for (uint32_t i = 0; i < sched::rank_count(); ++i)
    all = all && sched::rank_proclet(i)->state != sched::ProcletState::kReady;
  for_each_parked([&](sched::Proclet* p, uint32_t) {
    any = true;
    all = all && p->wait->deadlocks;
  });
  for (uint32_t i = 0; i < sched::helper_count(); ++i) {
    sched::Proclet* p = sched::helper_proclet(i);
    if (p->state == sched::ProcletState::kParked && p->wait) all = all && p->wait->deadlocks;
  }
  return any && all;
}

DeadlockedRank describe(sched::Proclet* p, uint32_t index) {
  DeadlockedRank w;
  sched::unpack_stack(p);
  w.rank = name_in_report(g_engine.me(), index);
  w.call = p->wait->call;
  w.thread = p->kind == sched::ProcletKind::kForeign;
  w.away = sched::is_visitor(p);
  if (p->wait->describe) p->wait->describe(p->wait, &w.words);
  WaitFor target;
  if (awaited(sched::innermost_wait(p->wait), &target) && target.peer.local != kProcessEndpoint)
    w.awaits = name_in_report(target.peer.process, target.peer.local);
  return w;
}

std::string line_of(const DeadlockedRank& w) {
  std::string line = Report::words(w.rank) + (w.thread ? ", a thread of it, in " : " in ") + w.call;
  if (w.away) line += " (in process " + std::to_string(g_engine.me()) + ", to which it has moved)";
  if (!w.words.empty()) line += ": " + w.words;
  return line;
}

}  // namespace

DeadlockAction deadlock_action() { return action(); }
bool all_wait_for_mpi() {
  return part_of_deadlock() && (!sched::threads_enabled() || sched::threads_wait_for_mpi());
}

void set_tool_deadlock(void (*deadlock)()) { g_tool_deadlock = deadlock; }

/// True for a rank of this home that is a visitor of another process, whose report describes it.
static bool is_away(uint32_t index) {
  return index < g_av.my_count() &&
         g_av.moved().process_of(g_av.my_first() + index) != MovedRanks::kNone;
}

Report local_report() {
  if (g_tool_deadlock) g_tool_deadlock();
  Report report;
  report.past_limit = count_past_limit();
  for_each_parked([&](sched::Proclet* p, uint32_t index) {
    if (is_away(index)) return;
    DeadlockedRank w = describe(p, index);
    report.ranks += !w.thread;
    ++report.calls[w.call];
    if (w.awaits >= 0 && !w.thread && report.edges.size() < Report::kMostEdges)
      report.edges[w.rank] = w.awaits;
    if (report.lines.size() < Report::kMostLines) report.lines.push_back({w.call, line_of(w)});
  });
  return report;
}

void print(const Report& report) {
  fflush(stdout);
  fputs(report.to_text().c_str(), stderr);
  fflush(stderr);
}

}  // namespace fgmpi::pt2pt
