#include "comm/hierarchy.h"

#include <algorithm>

namespace fgmpi::comm {
namespace {

constexpr int32_t kBlock = 1024;

/// Calls f(rank, process) for every rank in order.
template <class F>
void for_each_rank(const RankMap& map, F&& f) {
  std::vector<int32_t> worlds(std::min(map.size(), kBlock));
  for (int32_t first = 0; first < map.size(); first += kBlock) {
    int32_t count = std::min(kBlock, map.size() - first);
    map.world_range(first, count, worlds.data());
    for (int32_t i = 0; i < count; ++i)
      f(first + i, g_av.process_of(static_cast<uint32_t>(worlds[i])));
  }
}

void count_members(const RankMap& map, Hierarchy* h) {
  if (map.regular()) {
    for (uint32_t p = 0; p < g_av.processes(); ++p) {
      int32_t n = map.count_within(static_cast<int32_t>(g_av.first(p)),
                                   static_cast<int32_t>(g_av.first(p + 1)));
      if (n == 0) continue;
      h->processes.push_back(p);
      h->member_counts.push_back(static_cast<uint32_t>(n));
    }
    return;
  }
  std::vector<uint32_t> counts(g_av.processes());
  for_each_rank(map, [&](int32_t, uint32_t process) { ++counts[process]; });
  for (uint32_t p = 0; p < g_av.processes(); ++p) {
    if (counts[p] == 0) continue;
    h->processes.push_back(p);
    h->member_counts.push_back(counts[p]);
  }
}

/// Lists runs until there are more than `limit` of them; false then.
bool list_runs(const Hierarchy& h, const RankMap& map, size_t limit, std::vector<Run>* out) {
  out->clear();
  if (map.model() <= RankMap::Model::kStride) {
    // Ranks ascend or descend with world ranks, so each process hosts one run.
    bool up = map.size() < 2 || map.world_of(1) > map.world_of(0);
    int32_t first = 0;
    for (uint32_t i = 0; i < h.count(); ++i) {
      uint32_t index = up ? i : h.count() - 1 - i;
      int32_t count = static_cast<int32_t>(h.member_counts[index]);
      out->push_back({first, count, index});
      first += count;
    }
    return true;
  }
  uint32_t last_process = ~0u;
  bool fits = true;
  for_each_rank(map, [&](int32_t rank, uint32_t process) {
    if (process == last_process && !out->empty()) {
      ++out->back().count;
    } else if (out->size() < limit) {
      out->push_back({rank, 1, h.index_of_process(process)});
      last_process = process;
    } else {
      fits = false;
      last_process = ~0u;
    }
  });
  return fits;
}

const Hierarchy& get(std::shared_ptr<Hierarchy>& slot, const RankMap& map) {
  if (__builtin_expect(!slot, 0)) slot = std::make_unique<Hierarchy>(build_hierarchy(map));
  return *slot;
}

}  // namespace

uint32_t Hierarchy::index_of_process(uint32_t process) const {
  if (process < processes.size() && processes[process] == process) return process;
  auto it = std::lower_bound(processes.begin(), processes.end(), process);
  return it != processes.end() && *it == process ? static_cast<uint32_t>(it - processes.begin())
                                                 : ~0u;
}

uint32_t Hierarchy::index_of_rank(const RankMap& map, int32_t rank) const {
  return index_of_process(g_av.process_of(static_cast<uint32_t>(map.world_of(rank))));
}

void Hierarchy::ranks_of(const RankMap& map, uint32_t process, std::vector<int32_t>* ranks) {
  map.ranks_within(static_cast<int32_t>(g_av.first(process)),
                   static_cast<int32_t>(g_av.first(process + 1)), ranks);
}

void Hierarchy::runs_of(const RankMap& map, std::vector<Run>* out) const {
  if (!runs.empty() || map.size() == 0)
    *out = runs;
  else
    list_runs(*this, map, SIZE_MAX, out);
}

Hierarchy build_hierarchy(const RankMap& map) {
  Hierarchy h;
  count_members(map, &h);
  h.processes.shrink_to_fit();
  h.member_counts.shrink_to_fit();
  h.my_index = h.index_of_process(g_av.me());
  if (list_runs(h, map, 2 * h.processes.size(), &h.runs)) {
    h.one_run_each = h.runs.size() == h.processes.size();
    h.runs.shrink_to_fit();
  } else {
    std::vector<Run>().swap(h.runs);
  }
  return h;
}

const Hierarchy& hierarchy(SharedComm* shared) { return get(shared->hierarchy, shared->map); }

const Hierarchy& remote_hierarchy(SharedComm* shared) {
  return get(shared->remote_hierarchy, *shared->remote);
}

}  // namespace fgmpi::comm
