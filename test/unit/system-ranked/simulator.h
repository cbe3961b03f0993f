// Drives all vertices of a construction in one process, with counters and a LogGP clock a vertex.
// Only tests and benchmarks use it.
//
// The clock counts what the paper counts: a broadcast down the parent's tree starts the vertices,
// and a reduction up each new tree follows. Messages are delivered in the order of their arrival by
// the clock, so runs are repeatable.
//
// LogGP, in microseconds: a message of b bytes costs its sender `overhead`, and its receiver too.
// It arrives latency + (b - 1) * per_byte after it was sent. A vertex starts no two messages less
// than `gap` apart.
#pragma once

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "system-ranked/vertex.h"

namespace fgmpi::system_ranked {

struct LogGP {
  double latency = 3.0, overhead = 3.5, gap = 3.5, per_byte = 0.0024;
};

struct SimulationCounts {
  uint64_t messages[kKinds] = {};
  uint64_t bytes = 0;
  size_t longest = 0;      ///< bytes of the longest message
  size_t most_bytes = 0;   ///< most bytes that a vertex held at a time, as an intermediary too
  uint32_t suppliers = 0;  ///< most suppliers at a vertex at a time
  double began = 0;        ///< time when the last vertex was started
  double built = 0;        ///< time when the last place was complete
  double ended = 0;        ///< time when the last reduction was complete
  /// Messages of the construction, without those of a pass that only assigns ranks.
  uint64_t construction() const {
    uint64_t sum = 0;
    for (int k = 0; k < kKinds; ++k)
      if (k != kSizes && k != kRange) sum += messages[k];
    return sum;
  }
  uint64_t rank_pass() const { return messages[kSizes] + messages[kRange]; }
};

/// The tree of a parent whose vertices are 0 .. n-1, numbered level by level.
inline ParentPlace complete_tree(Address i, uint32_t n, uint32_t k) {
  ParentPlace where;
  where.self = i;
  where.parent = i == 0 ? kNobody : parent_of(i, k);
  where.depth = depth_of(i, k);
  for (uint32_t c = 0; c < children_of(i, k, n); ++c) where.children.push_back(i * k + 1 + c);
  return where;
}

class Simulation : private Carrier {
 public:
  /// Addresses are below `addresses`. `measure`: count transient bytes after each message (half
  /// the speed).
  Simulation(uint32_t addresses, const SplitOptions& options, const LogGP& loggp = {},
             bool measure = false)
      : directory_(addresses), options_(options), loggp_(loggp), measure_(measure) {
    options_.directory = &directory_;
    nodes_.resize(addresses);
  }
  Simulation(const Simulation&) = delete;

  void add(ParentPlace where, std::vector<Enrolment> mine) {
    SimulatedNode& node = nodes_[where.self];
    node.children = where.children;
    if (where.parent == kNobody) root_ = where.self;
    for (const Enrolment& e : mine) node.reduced.push_back({e.color, 0});
    node.vertex = Vertex::make(options_, std::move(where), std::move(mine));
  }

  /// Runs until no message is under way. Returns true when all vertices are done.
  bool run() {
    deliver_broadcast(root_);
    while (!events_.empty()) {
      Event event = std::move(const_cast<Event&>(events_.top()));
      events_.pop();
      deliver(event);
    }
    for (SimulatedNode& node : nodes_) {
      if (!node.intermediary.idle()) return false;
      if (!node.vertex) continue;
      if (!node.vertex->done()) return false;
      counts_.suppliers = std::max(counts_.suppliers, node.vertex->suppliers());
    }
    return true;
  }

  const SimulationCounts& counts() const { return counts_; }
  const std::vector<TreePosition>& places(Address at) const { return nodes_[at].vertex->places(); }
  bool done(Address at) const { return nodes_[at].vertex->done(); }
  bool has(Address at) const { return nodes_[at].vertex != nullptr; }
  uint32_t addresses() const { return static_cast<uint32_t>(nodes_.size()); }

 private:
  static constexpr uint8_t kBroadcast = 0xff, kReduce = 0xfe;
  struct SimulatedNode {
    std::unique_ptr<Vertex> vertex;
    Intermediary intermediary;
    std::vector<Address> children;  ///< in the parent's tree
    double clock = 0, sent = -1e9;
    /// For each color: the number of children's reductions that have arrived.
    std::vector<std::pair<uint32_t, uint32_t>> reduced;
    bool reducing = false;
  };
  struct Event {
    double time;
    uint64_t number;
    Address to, from;
    std::vector<uint8_t> message;
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };

  void send(Address to, std::vector<uint8_t> message) override {
    ++counts_.messages[message[0]];
    counts_.bytes += message.size();
    counts_.longest = std::max(counts_.longest, message.size());
    post(to, std::move(message));
  }

  void post(Address to, std::vector<uint8_t> message) {
    SimulatedNode& node = nodes_[at_];
    double arrival = node.clock;
    if (to != at_) {
      double begin = std::max(node.clock, node.sent + loggp_.gap);
      node.sent = begin;
      node.clock = begin + loggp_.overhead;
      arrival =
          node.clock + loggp_.latency + static_cast<double>(message.size() - 1) * loggp_.per_byte;
    }
    events_.push({arrival, number_++, to, at_, std::move(message)});
  }

  void deliver(Event& event) {
    SimulatedNode& node = nodes_[event.to];
    node.clock = std::max(node.clock, event.time);
    if (event.to != event.from) node.clock += loggp_.overhead;
    at_ = event.to;
    uint8_t kind = event.message[0];
    if (kind == kBroadcast) return deliver_broadcast(event.to);
    if (kind == kReduce) {
      MessageReader in(std::span<const uint8_t>(event.message).subspan(1));
      uint32_t color = in.get32();
      for (auto& [c, count] : node.reduced)
        if (c == color) ++count;
    } else if (Intermediary::is_for(static_cast<MessageKind>(kind))) {
      node.intermediary.receive(event.from, event.message, *this);
    } else {
      FGMPI_CHECK(!node.vertex->done());  // in the library it would no longer exist
      node.vertex->receive(event.from, event.message, *this);
    }
    after(event.to);
  }

  void deliver_broadcast(Address to) {
    at_ = to;
    SimulatedNode& node = nodes_[to];
    for (Address child : node.children) post(child, {kBroadcast, 0, 0, 0, 0, 0, 0, 0});
    counts_.began = std::max(counts_.began, node.clock);
    node.vertex->start(*this);
    after(to);
  }

  void after(Address at) {
    SimulatedNode& node = nodes_[at];
    if (measure_)
      counts_.most_bytes = std::max(
          counts_.most_bytes, (node.vertex ? node.vertex->bytes() : 0) + node.intermediary.bytes());
    if (!node.vertex || !node.vertex->done()) return;
    if (!node.reducing) counts_.built = std::max(counts_.built, node.clock);
    node.reducing = true;
    for (size_t i = 0; i < node.reduced.size(); ++i) {
      const TreePosition& place = node.vertex->places()[i];
      if (node.reduced[i].second != place.children.size()) continue;
      node.reduced[i].second = kNobody;  // once
      counts_.ended = std::max(counts_.ended, node.clock);
      if (place.parent == kNobody) continue;
      std::vector<uint8_t> message{kReduce};
      for (uint32_t rest = place.color;; rest >>= 7) {
        message.push_back(static_cast<uint8_t>(rest >= 0x80 ? rest | 0x80 : rest));
        if (rest < 0x80) break;
      }
      message.resize(std::max<size_t>(message.size(), 8), 0);
      post(place.parent, std::move(message));
    }
  }

  Directory directory_;
  SplitOptions options_;
  LogGP loggp_;
  bool measure_;
  std::vector<SimulatedNode> nodes_;
  std::priority_queue<Event> events_;
  SimulationCounts counts_;
  uint64_t number_ = 0;
  Address root_ = 0, at_ = 0;
};

}  // namespace fgmpi::system_ranked
