// The lists of a group's processes and of their members, built when a collective first needs them.

#include "comm/hierarchy.h"

#include <algorithm>
#include <numeric>

#include "ch4-av-rankmap/mlut.h"
#include "comm/partial_group.h"

namespace fgmpi::comm {
namespace {

constexpr int32_t kBlock = 1024;
/// The most runs that a regular communicator stores: its memory must not grow with the processes.
constexpr size_t kKeptRuns = 8;

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

int32_t count_in(const RankMap& map, uint32_t process) {
  int32_t count = 0;
  g_av.for_each_range_of(process, [&](uint32_t first, uint32_t past) {
    count += map.count_within(static_cast<int32_t>(first), static_cast<int32_t>(past));
  });
  return count;
}

/// Sorts processes into the order of `Hierarchy::processes` for members of several jobs.
void order_by_job(std::vector<uint32_t>* processes) {
  const ProcessGroups& groups = g_process_groups;
  std::stable_sort(processes->begin(), processes->end(), [&](uint32_t a, uint32_t b) {
    return groups.uid(groups.group_of_process(a)) < groups.uid(groups.group_of_process(b));
  });
}

void count_members(const RankMap& map, Hierarchy* h) {
  std::vector<uint32_t> processes;
  if (map.regular()) {
    for (uint32_t p = 0; p < g_av.all_processes(); ++p)
      if (count_in(map, p) > 0) processes.push_back(p);
    if (spans_groups(map)) order_by_job(&processes);
  } else {
    std::vector<uint32_t> counts(g_av.all_processes());
    for_each_rank(map, [&](int32_t, uint32_t process) { ++counts[process]; });
    for (uint32_t p = 0; p < g_av.all_processes(); ++p)
      if (counts[p] > 0) processes.push_back(p);
    if (spans_groups(map)) order_by_job(&processes);
    for (uint32_t p : processes) h->member_counts.push_back(counts[p]);
    h->member_counts.shrink_to_fit();
  }
  h->processes = Series(processes);
}

/// Lists runs until there are more than `limit` of them; returns false then.
bool list_runs(const Hierarchy& h, const RankMap& map, size_t limit, std::vector<ProcessRun>* out) {
  out->clear();
  if (map.model() <= RankMap::Model::kStride && !spans_groups(map)) {
    // Ranks ascend or descend with world ranks, so each process hosts one run.
    bool up = map.size() < 2 || map.world_of(1) > map.world_of(0);
    int32_t first = 0;
    for (uint32_t i = 0; i < h.count(); ++i) {
      uint32_t index = up ? i : h.count() - 1 - i;
      int32_t count = static_cast<int32_t>(h.members(map, index));
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

uint32_t members_here(const RankMap& map) {
  return static_cast<uint32_t>(count_in(map, g_av.me()));
}

Series::Series(const std::vector<uint32_t>& numbers)
    : size_(static_cast<uint32_t>(numbers.size())) {
  if (size_ > 0) first_ = numbers[0];
  if (size_ > 1) step_ = numbers[1] - numbers[0];
  for (uint32_t i = 0; i < size_; ++i) {
    // A step of 2^31 or more means that the numbers descend.
    if (numbers[i] == first_ + step_ * i && step_ < 1u << 31) continue;
    const bool ascending = std::is_sorted(numbers.begin(), numbers.end());
    list_ = std::make_unique<uint32_t[]>(ascending ? size_ : 2 * size_t{size_});
    std::copy(numbers.begin(), numbers.end(), list_.get());
    if (!ascending) {
      step_ = kNotAscending;
      uint32_t* places = list_.get() + size_;
      std::iota(places, places + size_, 0);
      std::sort(places, places + size_,
                [&](uint32_t a, uint32_t b) { return numbers[a] < numbers[b]; });
    }
    return;
  }
}

uint32_t Series::find(uint32_t number) const {
  if (!ascends()) {
    const uint32_t *places = list_.get() + size_, *past = places + size_;
    const uint32_t* at = std::lower_bound(
        places, past, number, [&](uint32_t place, uint32_t n) { return list_[place] < n; });
    return at != past && list_[*at] == number ? *at : ~0u;
  }
  if (list_) {
    const uint32_t* at = std::lower_bound(list_.get(), list_.get() + size_, number);
    return at != list_.get() + size_ && *at == number ? static_cast<uint32_t>(at - list_.get())
                                                      : ~0u;
  }
  uint32_t past = number - first_;
  uint32_t i = step_ > 1 ? past / step_ : past;
  return i < size_ && (*this)[i] == number ? i : ~0u;
}

uint32_t Hierarchy::members(const RankMap& map, uint32_t index) const {
  return member_counts.empty() ? static_cast<uint32_t>(count_in(map, processes[index]))
                               : member_counts[index];
}

uint32_t Hierarchy::index_of_rank(const RankMap& map, int32_t rank) const {
  return index_of_process(g_av.process_of(static_cast<uint32_t>(map.world_of(rank))));
}

void Hierarchy::ranks_of(const RankMap& map, uint32_t process, std::vector<int32_t>* ranks) {
  if (!g_av.hosts_others())
    return map.ranks_within(static_cast<int32_t>(g_av.first(process)),
                            static_cast<int32_t>(g_av.first(process + 1)), ranks);
  const auto old = static_cast<std::ptrdiff_t>(ranks->size());
  g_av.for_each_range_of(process, [&](uint32_t first, uint32_t past) {
    map.ranks_within(static_cast<int32_t>(first), static_cast<int32_t>(past), ranks);
  });
  std::sort(ranks->begin() + old, ranks->end());
}

void Hierarchy::runs_of(const RankMap& map, std::vector<ProcessRun>* out) const {
  if (!runs.empty() || map.size() == 0)
    *out = runs;
  else
    list_runs(*this, map, SIZE_MAX, out);
}

Hierarchy build_hierarchy(const RankMap& map) {
  Hierarchy h;
  count_members(map, &h);
  h.my_index = h.index_of_process(g_av.me());
  if (list_runs(h, map, 2 * size_t{h.processes.size()}, &h.runs)) {
    h.one_run_each = h.runs.size() == h.processes.size();
    h.runs.shrink_to_fit();
    if (map.regular() && h.runs.size() > kKeptRuns) std::vector<ProcessRun>().swap(h.runs);
  } else {
    std::vector<ProcessRun>().swap(h.runs);
  }
  return h;
}

const Hierarchy& hierarchy(SharedComm* shared) {
  if (__builtin_expect(!shared->hierarchy && shared->tree, 0)) materialise_map(shared);
  return get(shared->hierarchy, shared->map);
}

const Hierarchy& remote_hierarchy(SharedComm* shared) {
  return get(shared->remote_hierarchy, *shared->remote);
}

}  // namespace fgmpi::comm
