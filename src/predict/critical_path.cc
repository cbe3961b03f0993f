// The way back from the end.

#include "predict/critical_path.h"

#include <dlfcn.h>

#include <algorithm>

namespace fgmpi::predict {
namespace {

constexpr size_t kMostLines = 12;

/// A place is where a call returns to; what is before it belongs to the call's line.
PathPlace place_in_module(uint64_t place) {
  Dl_info info{};
  const uint64_t address = place - 1;
  if (!place || !dladdr(reinterpret_cast<void*>(address), &info) || !info.dli_fname) return {};
  return {info.dli_fname, address - reinterpret_cast<uint64_t>(info.dli_fbase)};
}

}  // namespace

void CriticalPath::add(Places* places, uint64_t from, uint64_t to, VirtualTime time) {
  Spent& spent = (*places)[{from, to}];
  spent.time += time;
  ++spent.count;
}

void CriticalPath::add_lines(const Places& places, bool messages, PathSummary* out) {
  for (const auto& [ends, spent] : places)
    out->lines.push_back({messages, place_in_module(ends.first), place_in_module(ends.second),
                          spent.time, spent.count});
}

PathSummary CriticalPath::follow(uint32_t rank, VirtualTime end, VirtualTime computed,
                                 uint64_t place) {
  for (auto& jumps : jumps_)  // those of nonblocking collectives are not in order
    std::stable_sort(jumps.begin(), jumps.end(),
                     [](const ClockJump& a, const ClockJump& b) { return a.at < b.at; });
  PathSummary path;
  Places segments, messages;
  for (;;) {
    auto& jumps = jumps_[rank];
    while (!jumps.empty() && jumps.back().at > end) jumps.pop_back();
    const bool is_first = jumps.empty();
    const ClockJump jump = is_first ? ClockJump{} : jumps.back();
    const VirtualTime passed = end - jump.at;
    const VirtualTime computing = std::clamp<VirtualTime>(computed - jump.computed, 0, passed);
    path.computing += computing;
    path.calls += passed - computing;
    if (computing > 0) add(&segments, jump.place, place, computing);
    if (is_first) break;
    jumps.pop_back();
    path.latency += jump.hop.latency;
    path.waited += jump.hop.waited;
    path.bytes += jump.at - jump.hop.begun - jump.hop.latency - jump.hop.waited;
    if (jump.hop.from != rank) ++path.messages;
    add(&messages, jump.hop.place, jump.place, jump.at - jump.hop.begun);
    rank = jump.hop.from;
    end = jump.hop.begun;
    computed = jump.hop.computed;
    place = jump.hop.place;
  }
  add_lines(segments, false, &path);
  add_lines(messages, true, &path);
  std::stable_sort(path.lines.begin(), path.lines.end(),
                   [](const PathLine& a, const PathLine& b) { return a.time > b.time; });
  if (path.lines.size() > kMostLines) path.lines.resize(kMostLines);
  path.is_known = true;
  return path;
}

}  // namespace fgmpi::predict
