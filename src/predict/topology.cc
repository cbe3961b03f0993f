// The ways through each topology.

#include "predict/topology.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <tuple>

#include "base/strings.h"

namespace fgmpi::predict {
namespace {

constexpr const char* kTopologyNames[] = {"none",  "switch",    "fat tree",
                                          "torus", "dragonfly", "graph"};
constexpr uint32_t kNoLink = UINT32_MAX;
/// Links are numbered by 32 bits, with the ports of nodes.
constexpr uint64_t kMaxLinks = uint64_t{1} << 30;

uint64_t product(const std::vector<uint32_t>& numbers, size_t from, size_t step) {
  uint64_t all = 1;
  for (size_t i = from; i < numbers.size(); i += step) all = std::min(all * numbers[i], kMaxLinks);
  return all;
}

}  // namespace

const char* name_of(TopologyKind kind) { return kTopologyNames[static_cast<size_t>(kind)]; }

uint64_t TopologyShape::nodes() const {
  switch (kind) {
    case TopologyKind::kFatTree:
      return product(numbers, 0, 2);
    case TopologyKind::kTorus:
      return product(numbers, 0, 1);
    case TopologyKind::kDragonfly:
      return uint64_t{numbers[0]} * numbers[1] * numbers[2];
    case TopologyKind::kGraph:
      return numbers[0];
    default:
      return UINT64_MAX;
  }
}

std::string TopologyShape::complaint() const {
  if (kind != TopologyKind::kSwitch && kind != TopologyKind::kNone && nodes() > 1'000'000)
    return "it has more than 1,000,000 nodes";
  if (kind == TopologyKind::kFatTree &&
      product(numbers, 1, 2) * product(numbers, 0, 2) >= kMaxLinks)
    return "it has too many links";
  if (kind == TopologyKind::kDragonfly && numbers[0] > 1 &&
      uint64_t{numbers[1]} * numbers[3] < numbers[0] - 1)
    return format("%u routers with %u links to other groups do not reach %u groups", numbers[1],
                  numbers[3], numbers[0] - 1);
  return "";
}

MachineTopology::MachineTopology(TopologyShape shape) : shape_(std::move(shape)) {
  const auto& n = shape_.numbers;
  switch (shape_.kind) {
    case TopologyKind::kNone:
      break;
    case TopologyKind::kSwitch:
      links_ = 1;
      break;
    case TopologyKind::kFatTree: {
      uint64_t parallel = 1;  // switches of the level below that have the same nodes below them
      for (size_t level = 1; 2 * level < n.size(); ++level) {
        const uint64_t subtrees = product(n, 2 * level, 2);
        level_first_.push_back(links_);
        level_up_.push_back(subtrees * parallel * n[2 * level + 1]);
        links_ += 2 * level_up_.back();
        parallel *= n[2 * level + 1];
      }
      break;
    }
    case TopologyKind::kTorus:
      links_ = shape_.nodes() * n.size() * 2;
      break;
    case TopologyKind::kDragonfly:
      links_ = uint64_t{n[0]} * n[1] * (uint64_t{n[1]} + n[3]);
      break;
    case TopologyKind::kGraph:
      links_ = 2 * shape_.edges.size();
      out_.resize(uint64_t{n[0]} + n[1]);
      next_.resize(n[0]);
      for (uint32_t i = 0; i < links_; ++i) out_[shape_.edges[i / 2].ends[i % 2]].push_back(i);
  }
}

const TopologyLink& MachineTopology::link(uint32_t number) const {
  switch (shape_.kind) {
    case TopologyKind::kFatTree: {
      size_t level = level_first_.size();
      while (level > 1 && level_first_[level - 1] > number) --level;
      return shape_.links[level];
    }
    case TopologyKind::kDragonfly:
      return shape_
          .links[number < uint64_t{shape_.numbers[0]} * shape_.numbers[1] * shape_.numbers[1] ? 0
                                                                                              : 1];
    case TopologyKind::kGraph:
      return shape_.edges[number / 2].link;
    default:
      return shape_.links[0];
  }
}

void MachineTopology::route(uint32_t from, uint32_t to, std::vector<uint32_t>* way) const {
  way->clear();
  if (from == to) return;
  switch (shape_.kind) {
    case TopologyKind::kNone:
      return;
    case TopologyKind::kSwitch:
      return way->push_back(0);
    case TopologyKind::kFatTree:
      return route_tree(from, to, way);
    case TopologyKind::kTorus:
      return route_torus(from, to, way);
    case TopologyKind::kDragonfly:
      return route_dragonfly(from, to, way);
    case TopologyKind::kGraph:
      return route_graph(from, to, way);
  }
}

VirtualTime MachineTopology::latency(uint32_t from, uint32_t to) const {
  route(from, to, &way_);
  VirtualTime sum = 0;
  for (const uint32_t number : way_) sum += link(number).latency;
  return sum;
}

/// Up until a switch is above both nodes, then down. At each level the receiver's number chooses
/// among the switches above.
void MachineTopology::route_tree(uint32_t from, uint32_t to, std::vector<uint32_t>* way) const {
  const auto& n = shape_.numbers;
  uint64_t a = from / n[0], b = to / n[0];  // the subtrees of both
  uint64_t parallel = 1, at = 0, choice = to;
  std::vector<uint32_t> down;
  for (size_t level = 1; a != b; ++level) {
    const uint64_t up = n[2 * level + 1], next = choice % up;
    choice /= up;
    const uint64_t first = level_first_[level - 1];
    way->push_back(static_cast<uint32_t>(first + (a * parallel + at) * up + next));
    down.push_back(
        static_cast<uint32_t>(first + level_up_[level - 1] + (b * parallel + at) * up + next));
    at += next * parallel;
    parallel *= up;
    a /= n[2 * level];
    b /= n[2 * level];
  }
  way->insert(way->end(), down.rbegin(), down.rend());
}

void MachineTopology::route_torus(uint32_t from, uint32_t to, std::vector<uint32_t>* way) const {
  const auto& dimensions = shape_.numbers;
  uint64_t stride = 1;
  uint64_t at = from;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const uint64_t n = dimensions[d];
    const uint64_t target = to / stride % n;
    for (uint64_t here = at / stride % n; here != target;) {
      const bool forward = (target + n - here) % n * 2 <= n;
      way->push_back(static_cast<uint32_t>((at * dimensions.size() + d) * 2 + (forward ? 0 : 1)));
      const uint64_t next = (here + (forward ? 1 : n - 1)) % n;
      at = at - here * stride + next * stride;
      here = next;
    }
    stride *= n;
  }
}

/// The link within a group from one router to another one.
uint32_t MachineTopology::local_link(uint32_t group, uint32_t from, uint32_t to) const {
  const uint32_t routers = shape_.numbers[1];
  return (group * routers + from) * routers + to;
}

/// Links between groups: those of a group are dealt out to the other groups in turn, the nearest
/// first, and those to the same group are chosen by the receiver.
void MachineTopology::route_dragonfly(uint32_t from, uint32_t to,
                                      std::vector<uint32_t>* way) const {
  const uint32_t groups = shape_.numbers[0], routers = shape_.numbers[1], nodes = shape_.numbers[2],
                 global = shape_.numbers[3];
  uint32_t router = from / nodes % routers;
  const uint32_t group = from / nodes / routers, target = to / nodes / routers;
  const uint32_t last = to / nodes % routers;
  if (group != target) {
    const uint32_t others = groups - 1, parallel = routers * global / others;
    const uint32_t turn = to % parallel;
    const uint32_t mine = (target + groups - group - 1) % groups + turn * others;
    const uint32_t theirs = (group + groups - target - 1) % groups + turn * others;
    if (mine / global != router) way->push_back(local_link(group, router, mine / global));
    way->push_back(groups * routers * routers + group * routers * global + mine);
    router = theirs / global;
  }
  if (router != last) way->push_back(local_link(target, router, last));
}

void MachineTopology::route_graph(uint32_t from, uint32_t to, std::vector<uint32_t>* way) const {
  const std::vector<uint32_t>& next = next_links(to);
  for (uint32_t at = from; at != to && next[at] != kNoLink;) {
    way->push_back(next[at]);
    at = shape_.edges[next[at] / 2].ends[1 - next[at] % 2];
  }
}

/// The link that each vertex takes to a node: of the ways with the fewest links that with the least
/// latency, then the first of the file. Nodes pass nothing on that is not for them.
const std::vector<uint32_t>& MachineTopology::next_links(uint32_t to) const {
  std::vector<uint32_t>& next = next_[to];
  if (!next.empty()) return next;
  next.assign(out_.size(), kNoLink);
  std::vector<std::pair<uint32_t, VirtualTime>> far(out_.size(), {UINT32_MAX, kNever});
  far[to] = {0, 0};
  std::deque<uint32_t> queue = {to};
  while (!queue.empty()) {
    const uint32_t at = queue.front();
    queue.pop_front();
    if (at != to && at < shape_.numbers[0]) continue;
    for (const uint32_t back : out_[at]) {
      const TopologyShape::TopologyEdge& edge = shape_.edges[back / 2];
      const uint32_t vertex = edge.ends[1 - back % 2];
      const std::pair<uint32_t, VirtualTime> distance = {far[at].first + 1,
                                                         far[at].second + edge.link.latency};
      if (far[vertex].first == UINT32_MAX) queue.push_back(vertex);
      if (distance >= far[vertex]) continue;
      far[vertex] = distance;
      next[vertex] = back ^ 1;
    }
  }
  return next;
}

}  // namespace fgmpi::predict
