// The address vector: filling it, adding and removing ranges of other jobs, and the slower lookups.

#include "ch4-av-rankmap/av.h"

#include <algorithm>

namespace fgmpi {

AddressVector g_av;

void AddressVector::init(const std::vector<uint32_t>& starts, uint32_t me) {
  FGMPI_CHECK(starts.size() >= 2 && me + 1 < starts.size());
  processes_ = static_cast<uint32_t>(starts.size()) - 1;
  world_size_ = starts.back();
  elements_.assign(processes_, AvElement{});
  uniform_ = starts[1] - starts[0];
  for (uint32_t p = 0; p < processes_; ++p) {
    FGMPI_CHECK(starts[p] < starts[p + 1]);
    elements_[p].first = starts[p];
    if (starts[p + 1] - starts[p] != uniform_) uniform_ = 0;
  }
  own_uniform_ = uniform_;
  all_ranks_ = world_size_;
  holes_.clear();
  // With m = floor((2^64 - 1) / C) the product (w + 1) m / 2^64 falls short of (w + 1) / C by more
  // than 0 and at most 1 / C for all w, C < 2^32: its floor is w / C, also for C = 1.
  if (uniform_) reciprocal_ = ~uint64_t{0} / uniform_;
  me_ = me;
  my_first_ = starts[me];
  my_count_ = starts[me + 1] - starts[me];
  direct_count_ = my_count_;
  direct_uniform_ = uniform_;
  moved_ = {};
  hosted_.clear();
  count_locals();
}

// In a hole the first process has all ranks and the others have none: so first() still ascends. No
// search ends in a hole, since callers never look up a rank of one.

void AddressVector::place(uint32_t process, std::span<const uint32_t> counts) {
  uint32_t rank = first(process);
  for (size_t k = 0; k < counts.size(); ++k) {
    elements_[process + k] = AvElement{0, rank};
    rank += counts[k];
  }
}

void AddressVector::make_hole(const Hole& hole) {
  const uint32_t past = first(hole.process + hole.processes);
  for (uint32_t k = 0; k < hole.processes; ++k)
    elements_[hole.process + k] = AvElement{0, k == 0 ? first(hole.process) : past};
}

uint32_t AddressVector::add_range(std::span<const uint32_t> counts) {
  const auto processes = static_cast<uint32_t>(counts.size());
  uint64_t ranks = 0;
  for (uint32_t count : counts) ranks += count;
  set_uniform(0);
  for (size_t i = 0; i < holes_.size(); ++i) {
    const Hole hole = holes_[i];
    const uint32_t room = first(hole.process + hole.processes) - first(hole.process);
    // The ranks that remain of a hole need a process of the hole that remains too.
    if (hole.processes < processes || room < ranks ||
        (hole.processes == processes && room != ranks))
      continue;
    place(hole.process, counts);
    if (hole.processes > processes) {
      holes_[i] = {hole.process + processes, hole.processes - processes};
      const uint32_t past = first(hole.process + hole.processes);
      for (uint32_t k = 0; k < holes_[i].processes; ++k)
        elements_[holes_[i].process + k].first =
            k == 0 ? first(hole.process) + static_cast<uint32_t>(ranks) : past;
    } else {
      holes_.erase(holes_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return hole.process;
  }
  if (all_ranks_ + ranks >= uint64_t{1} << 31) {
    if (all_processes() == processes_) set_uniform(own_uniform_);
    return kNoRange;
  }
  const uint32_t process = all_processes();
  elements_.resize(process + processes, AvElement{0, all_ranks_});
  place(process, counts);
  all_ranks_ += static_cast<uint32_t>(ranks);
  return process;
}

void AddressVector::remove_range(uint32_t first_process, uint32_t processes) {
  FGMPI_CHECK(first_process >= processes_ && first_process + processes <= all_processes());
  if (std::erase_if(hosted_,
                    [&](const HostedRange& h) { return h.first_process == first_process; }))
    count_locals();
  Hole hole{first_process, processes};
  auto next = std::find_if(holes_.begin(), holes_.end(),
                           [&](const Hole& h) { return h.process > first_process; });
  if (next != holes_.end() && hole.process + hole.processes == next->process) {
    hole.processes += next->processes;
    next = holes_.erase(next);
  }
  if (next != holes_.begin() && next[-1].process + next[-1].processes == hole.process) {
    hole = {next[-1].process, next[-1].processes + hole.processes};
    next = holes_.erase(next - 1);
  }
  if (hole.process + hole.processes < all_processes()) {
    make_hole(hole);
    holes_.insert(next, hole);
    return;
  }
  all_ranks_ = first(hole.process);
  elements_.resize(hole.process);
  elements_.shrink_to_fit();
  if (all_processes() == processes_) set_uniform(own_uniform_);
}

uint32_t AddressVector::search(uint32_t w) const {
  if (w < world_size_ && own_uniform_) return divide(w + uint64_t{1});
  auto after = std::upper_bound(elements_.begin(), elements_.end(), w,
                                [](uint32_t rank, const AvElement& e) { return rank < e.first; });
  return static_cast<uint32_t>(after - elements_.begin()) - 1;
}

// ---- Ranges whose ranks other processes host ----------------------------------------------------

void AddressVector::set_hosts(uint32_t first_process, std::vector<Host> hosts) {
  FGMPI_CHECK(first_process >= processes_ && first_process + hosts.size() <= all_processes());
  for (size_t k = 0; k < hosts.size(); ++k)
    FGMPI_CHECK(hosts[k].process < all_processes() && !is_hosted_element(hosts[k].process) &&
                (k == 0 || hosts[k - 1].process < hosts[k].process));
  auto at = std::find_if(hosted_.begin(), hosted_.end(),
                         [&](const HostedRange& h) { return h.first_process > first_process; });
  hosted_.insert(at, {first_process, std::move(hosts)});
  count_locals();
}

std::span<const AddressVector::Host> AddressVector::hosts_of(uint32_t first_process) const {
  const HostedRange* range = find_hosted(first_process);
  return range ? std::span<const Host>(range->hosts) : std::span<const Host>();
}

const AddressVector::HostedRange* AddressVector::find_hosted(uint32_t element) const {
  auto after = std::upper_bound(
      hosted_.begin(), hosted_.end(), element,
      [](uint32_t process, const HostedRange& h) { return process < h.first_process; });
  if (after == hosted_.begin()) return nullptr;
  const HostedRange& range = after[-1];
  return element - range.first_process < range.hosts.size() ? &range : nullptr;
}

Location AddressVector::locate_slowly(uint32_t w) const {
  const uint32_t element = search(w), past = w - elements_[element].first;
  if (__builtin_expect(!hosted_.empty(), 0))
    if (const HostedRange* range = find_hosted(element)) {
      const Host& host = range->hosts[element - range->first_process];
      return {host.process, host.local + past};
    }
  return {element, past};
}

bool AddressVector::is_hosted_here(uint32_t w, uint32_t* local) const {
  if (w < world_size_ || w >= all_ranks_) return false;
  const Location at = locate_slowly(w);
  *local = at.local;
  return at.process == me_;
}

// ---- Ranks that move ----------------------------------------------------------------------------

void AddressVector::let_ranks_move() { direct_count_ = direct_uniform_ = 0; }

Location AddressVector::destination_slowly(uint32_t w) const {
  if (ranks_move() && w < world_size_) return {kByWorld, w};
  return locate(w);
}

Location AddressVector::as_destination(const Location& location) const {
  if (!ranks_move() || location.process >= processes_ || location.local >= count(location.process))
    return location;
  return {kByWorld, first(location.process) + location.local};
}

uint32_t AddressVector::global_of(uint32_t process, uint32_t local) const {
  if (process == kByWorld) return local;
  if (process == me_ && local >= my_count_) {
    const uint32_t visitor = moved_.visitor_at(local);
    if (visitor != MovedRanks::kNone) return visitor;
  }
  if (local < count(process)) return first(process) + local;
  for (const HostedRange& range : hosted_)
    for (uint32_t k = 0; k < range.hosts.size(); ++k) {
      const Host& host = range.hosts[k];
      const uint32_t element = range.first_process + k;
      if (host.process == process && local - host.local < count(element))
        return first(element) + (local - host.local);
    }
  return kNoRange;
}

void AddressVector::count_locals() {
  locals_ = my_count_;
  for (const HostedRange& range : hosted_)
    for (uint32_t k = 0; k < range.hosts.size(); ++k)
      if (range.hosts[k].process == me_)
        locals_ = std::max(locals_, range.hosts[k].local + count(range.first_process + k));
}

}  // namespace fgmpi
