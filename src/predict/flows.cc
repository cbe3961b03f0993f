// Progressive filling, among the flows that a change concerns.

#include "predict/flows.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace fgmpi::predict {

// ---- Flows
// ---------------------------------------------------------------------------------------

uint32_t FlowShares::begin(VirtualTime now, VirtualTime work, const std::vector<LinkUse>& links,
                           void* owner) {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(flows_.size()));
    flows_.emplace_back();
  }
  const uint32_t number = free_.back();
  free_.pop_back();
  SharedFlow& flow = flows_[number];
  flow.left = static_cast<double>(std::max<VirtualTime>(work, 1));
  flow.share = 0;
  flow.since = now;
  flow.ends = kNever;
  flow.number = ++begun_;
  flow.owner = owner;
  flow.running = true;
  flow.uses.clear();
  for (const LinkUse& use : links) {
    const auto part = static_cast<int64_t>(std::llround(use.use * static_cast<double>(kWhole)));
    if (part == 0) continue;
    SharedLink& link = links_[use.link];
    flow.uses.push_back({use.link, static_cast<uint32_t>(link.members.size()), part});
    link.members.push_back({number, static_cast<uint32_t>(flow.uses.size() - 1)});
    link.demand += part;
    if (could_be_full(link)) add_stale(use.link);
  }
  stale_flows_.push_back(number);
  flow.heap_place = static_cast<uint32_t>(heap_.size());
  heap_.push_back(number);
  return number;
}

void FlowShares::add_stale(uint32_t link) {
  if (links_[link].stale) return;
  links_[link].stale = true;
  stale_links_.push_back(link);
}

void* FlowShares::pop() {
  const uint32_t number = heap_[0], last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) {
    put(0, last);
    sift(0);
  }
  SharedFlow& flow = flows_[number];
  for (const FlowUse& use : flow.uses) {
    SharedLink& link = links_[use.link];
    if (could_be_full(link)) add_stale(use.link);
    link.demand -= use.part;
    const Member moved = link.members[use.place] = link.members.back();
    flows_[moved.flow].uses[moved.use].place = use.place;
    link.members.pop_back();
  }
  flow.running = false;
  free_.push_back(number);
  return flow.owner;
}

/// Restores the heap's order around a place whose flow has a new end.
void FlowShares::sift(uint32_t place) {
  const uint32_t flow = heap_[place];
  while (place > 0 && before(flow, heap_[(place - 1) / 2])) {
    put(place, heap_[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  for (;;) {
    size_t child = size_t{place} * 2 + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], flow)) break;
    put(place, heap_[child]);
    place = static_cast<uint32_t>(child);
  }
  put(place, flow);
}

// ---- Shares
// --------------------------------------------------------------------------------------

void FlowShares::visit(uint32_t flow) {
  if (flows_[flow].seen) return;
  flows_[flow].seen = true;
  seen_flows_.push_back(flow);
}

/// Finds the flows whose shares may change, and the links that bound them.
void FlowShares::collect() {
  seen_flows_.clear();
  seen_links_.clear();
  for (const uint32_t link : stale_links_) {
    links_[link].stale = false;
    for (const Member& m : links_[link].members) visit(m.flow);
  }
  for (const uint32_t flow : stale_flows_)
    if (flows_[flow].running) visit(flow);
  stale_links_.clear();
  stale_flows_.clear();
  for (size_t i = 0; i < seen_flows_.size(); ++i)
    for (const FlowUse& use : flows_[seen_flows_[i]].uses) {
      SharedLink& link = links_[use.link];
      if (link.seen || !could_be_full(link)) continue;
      link.seen = true;
      link.left = 1;
      link.unfixed = link.demand;
      seen_links_.push_back(use.link);
      for (const Member& m : link.members) visit(m.flow);
    }
}

/// The share at which the link is full, if its flows that still grow reach it together.
double FlowShares::level_of(const SharedLink& link) const {
  return std::max(link.left, 0.0) * static_cast<double>(kWhole) / static_cast<double>(link.unfixed);
}

void FlowShares::fix(uint32_t number, double level) {
  SharedFlow& flow = flows_[number];
  flow.fixed = true;
  flow.share = std::max(level, 1e-12);
  for (const FlowUse& use : flow.uses) {
    SharedLink& link = links_[use.link];
    if (!link.seen) continue;
    link.left -= level * static_cast<double>(use.part) / static_cast<double>(kWhole);
    link.unfixed -= use.part;
  }
}

void FlowShares::fill() {
  const auto later = std::greater<>();
  levels_.clear();
  for (const uint32_t link : seen_links_) levels_.emplace_back(level_of(links_[link]), link);
  std::make_heap(levels_.begin(), levels_.end(), later);
  while (!levels_.empty()) {
    std::pop_heap(levels_.begin(), levels_.end(), later);
    const auto [then, number] = levels_.back();
    levels_.pop_back();
    SharedLink& link = links_[number];
    if (link.unfixed <= 0) continue;
    const double level = level_of(link);
    if (then >= 1) break;
    if (level > then) {  // other links have taken less of its flows since
      levels_.emplace_back(level, number);
      std::push_heap(levels_.begin(), levels_.end(), later);
      continue;
    }
    for (const Member& m : link.members)
      if (!flows_[m.flow].fixed) fix(m.flow, level);
  }
  for (const uint32_t flow : seen_flows_)
    if (!flows_[flow].fixed) flows_[flow].share = 1;
}

void FlowShares::set_end(uint32_t number, VirtualTime now) {
  SharedFlow& flow = flows_[number];
  if (flow.share == flow.before) return;
  flow.left -= static_cast<double>(now - flow.since) * flow.before;
  flow.since = now;
  flow.ends = now + std::max<VirtualTime>(std::llround(flow.left / flow.share), 0);
  sift(flow.heap_place);
}

void FlowShares::share(VirtualTime now) {
  collect();
  for (const uint32_t flow : seen_flows_) {
    flows_[flow].before = flows_[flow].share;
    flows_[flow].fixed = false;
  }
  fill();
  for (const uint32_t flow : seen_flows_) {
    set_end(flow, now);
    flows_[flow].seen = false;
  }
  for (const uint32_t link : seen_links_) links_[link].seen = false;
}

}  // namespace fgmpi::predict
