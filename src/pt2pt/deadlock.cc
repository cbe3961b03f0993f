// The deadlock report: who waits for what, and around which cycle. When: termination.cc.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/settings.h"
#include "base/strings.h"
#include "pt2pt/deadlock.h"
#include "pt2pt/sites.h"

namespace fgmpi::pt2pt {

namespace {

constexpr size_t kShown = 20;
constexpr size_t kMostEdges = 4096;  ///< of a process that are looked at for a cycle
using Action = DeadlockAction;

static_assert(settings::has_choices(settings::kDeadlock, "abort|report|off"));

Action action() { return settings::choice<Action>(settings::kDeadlock); }

struct Waiting {
  uint32_t world = 0;
  std::string call, words;
  int64_t awaits = -1;  ///< world rank
};

template <class F>
void for_each_parked(F&& f) {
  for (uint32_t i = 0; i < sched::rank_count(); ++i) {
    sched::Proclet* p = sched::rank_proclet(i);
    if (p->state == sched::State::kParked && p->wait) f(p, i);
  }
}

bool part_of_deadlock() {
  bool any = false, all = true;
  for_each_parked([&](sched::Proclet* p, uint32_t) {
    any = true;
    all = all && p->wait->deadlocks;
  });
  for (uint32_t i = 0; i < sched::helper_count(); ++i) {
    sched::Proclet* p = sched::helper_proclet(i);
    if (p->state == sched::State::kParked && p->wait) all = all && p->wait->deadlocks;
  }
  return any && all;
}

Waiting describe(sched::Proclet* p, uint32_t index) {
  Waiting w;
  w.world = g_av.my_first() + index;
  w.call = p->wait->call;
  if (p->wait->describe) p->wait->describe(p->wait, &w.words);
  WaitFor target;
  if (awaited(p->wait, &target) && target.peer.local != kProcessEndpoint)
    w.awaits = g_av.first(target.peer.process) + target.peer.local;
  return w;
}

std::string line_of(const Waiting& w) {
  std::string line = format("fgmpi:   rank %u in %s", w.world, w.call.c_str());
  if (!w.words.empty()) line += ": " + w.words;
  return line + "\n";
}

/// A cycle of "rank a waits for rank b": world ranks in order, or nothing. edges: world rank ->
/// world rank.
std::vector<int64_t> find_cycle(const std::map<int64_t, int64_t>& edges) {
  std::map<int64_t, int64_t> seen;  // rank -> number of the walk that saw it
  int64_t walk = 0;
  for (const auto& [start, unused] : edges) {
    (void)unused;
    ++walk;
    std::vector<int64_t> path;
    for (int64_t at = start;;) {
      auto [where, fresh] = seen.emplace(at, walk);
      if (!fresh) {
        if (where->second != walk) break;
        return {std::find(path.begin(), path.end(), at), path.end()};
      }
      path.push_back(at);
      auto edge = edges.find(at);
      if (edge == edges.end()) break;
      at = edge->second;
    }
  }
  return {};
}

std::string cycle_words(const std::vector<int64_t>& cycle) {
  std::string words = "fgmpi:   cycle: ";
  for (size_t i = 0; i < cycle.size() && i < kShown; ++i)
    words += format("rank %lld waits for ", static_cast<long long>(cycle[i]));
  if (cycle.size() > kShown) words += format("... (%zu ranks) ", cycle.size());
  return words + format("rank %lld\n", static_cast<long long>(cycle[0]));
}

}  // namespace

DeadlockAction deadlock_action() { return action(); }
bool all_wait_for_mpi() { return part_of_deadlock(); }

Report local_report() {
  Report report;
  for_each_parked([&](sched::Proclet* p, uint32_t index) {
    ++report.ranks;
    Waiting w = describe(p, index);
    ++report.calls[w.call];
    if (w.awaits >= 0 && report.edges.size() < kMostEdges) report.edges[w.world] = w.awaits;
    if (report.lines.size() < kShown) report.lines.push_back({w.call, line_of(w)});
  });
  return report;
}

// N count / C count call / E rank rank / L call TAB line: one a line.
std::string Report::to_text() const {
  std::string text = format("N %llu\n", static_cast<unsigned long long>(ranks));
  for (const auto& [call, count] : calls)
    text += format("C %llu %s\n", static_cast<unsigned long long>(count), call.c_str());
  for (const auto& [from, to] : edges)
    text += format("E %lld %lld\n", static_cast<long long>(from), static_cast<long long>(to));
  for (const auto& [call, line] : lines) text += "L " + call + "\t" + line;
  return text;
}

void Report::add_text(const std::string& text) {
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.size() < 3) continue;
    char* rest = nullptr;
    const char* body = line.c_str() + 2;
    if (line[0] == 'L') {
      size_t tab = line.find('\t');
      if (tab != std::string::npos && lines.size() < kShown)
        lines.push_back({line.substr(2, tab - 2), line.substr(tab + 1) + "\n"});
      continue;
    }
    long long first = strtoll(body, &rest, 10);
    if (line[0] == 'N')
      ranks += static_cast<uint64_t>(first);
    else if (line[0] == 'C')
      calls[rest + 1] += static_cast<uint64_t>(first);
    else if (line[0] == 'E')
      edges[first] = strtoll(rest, nullptr, 10);
  }
}

void Report::print() {
  std::string text = format(
      "fgmpi: deadlock: all %llu ranks that have not ended wait and no message is on its way\n",
      static_cast<unsigned long long>(ranks));
  for (const auto& [call, line] : lines) {
    text += line;
    --calls[call];
  }
  for (const auto& [call, count] : calls)
    if (count > 0)
      text += format("fgmpi:   %llu more in %s\n", static_cast<unsigned long long>(count),
                     call.c_str());
  std::vector<int64_t> cycle = find_cycle(edges);
  if (!cycle.empty()) text += cycle_words(cycle);
  fflush(stdout);
  fputs(text.c_str(), stderr);
  fflush(stderr);
}

}  // namespace fgmpi::pt2pt
