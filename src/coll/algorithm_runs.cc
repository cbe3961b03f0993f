// Counters of the runs of each algorithm, for the process and for the communicators that a
// tool watches.

#include "coll/algorithm_runs.h"

#include <array>
#include <unordered_map>
#include <utility>

namespace fgmpi::coll {
namespace {

using counters::kAlgorithms;
using Runs = std::array<uint64_t, kAlgorithms>;

struct Counted {
  uint32_t users = 0;  ///< performance-variable handles that are started
  Runs runs = {};
};

Runs g_runs = {};
std::unordered_map<const comm::SharedComm*, Counted> g_counted;
void (*g_tool_run)(int, int, int) = nullptr;
bool g_watched = false;  ///< communicators are counted, or there is a tool's function

void update_watched() { g_watched = !g_counted.empty() || g_tool_run; }

const comm::SharedComm* shared_of(const void* comm) {
  return static_cast<const comm::Comm*>(comm)->shared;
}

const void* start(const void* comm) {
  ++g_counted[shared_of(comm)].users;
  update_watched();
  return shared_of(comm);
}

void stop(const void* shared) {
  auto it = g_counted.find(static_cast<const comm::SharedComm*>(shared));
  if (--it->second.users == 0) g_counted.erase(it);
  update_watched();
}

/// Provides the counter of one algorithm for the process, and the counter for the communicators
/// that are counted. The two kinds of counters are in the same order.
template <int i>
void provide_both() {
  counters::provide(static_cast<counters::CounterId>(counters::kFirstRuns + i),
                    [](const void*) { return g_runs[i]; });
  counters::provide(static_cast<counters::CounterId>(counters::kFirstCommRuns + i),
                    [](const void* comm) -> uint64_t {
                      auto it = g_counted.find(shared_of(comm));
                      return it == g_counted.end() ? 0 : it->second.runs[i];
                    },
                    {start, stop});
}

[[maybe_unused]] const bool g_provided = []<int... i>(std::integer_sequence<int, i...>) {
  (provide_both<i>(), ...);
  return true;
}
(std::make_integer_sequence<int, kAlgorithms>());

}  // namespace

void count_run(const OpenTeam& team, counters::CounterId algorithm) {
  const size_t index = static_cast<size_t>(algorithm - counters::kFirstRuns);
  ++g_runs[index];
  if (__builtin_expect(!g_watched, 1)) return;
  if (g_tool_run)
    g_tool_run(static_cast<int>(team.shared->id.lid()), static_cast<int>(team.shared->id.lbi()),
               static_cast<int>(index));
  if (auto it = g_counted.find(team.shared); it != g_counted.end()) ++it->second.runs[index];
}

void set_tool_run(void (*run)(int, int, int)) {
  g_tool_run = run;
  update_watched();
}

}  // namespace fgmpi::coll
