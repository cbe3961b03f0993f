// MachineTopology: the links between the nodes of the predicted machine, and the ways of messages.
//
// A link has one direction. The links by which a node is connected, its ports, are not among those
// here: LogGP's parameters describe them. Ways are minimal; where several are, the number of the
// receiving node decides, as in static routing.
//
//   switch     one; its bandwidth may be bounded
//   fat tree   a level of switches for each element: each has `down` below it, which are connected
//              with `up` switches of that level (an extended generalized fat tree: Ohring et al.,
//              IPPS 1995; ways: Zahavi, "D-Mod-K routing", 2010). Level 0 has the nodes below it.
//   torus      nodes in a grid with wraps; a way changes the first dimension first
//   dragonfly  groups of routers, all of a group connected, each with nodes and with links to other
//              groups (Kim et al., ISCA 2008); a way has one link between groups
//   graph      links as the file has them; the fewest links, then the least latency
//
// Thread rule: values; one thread; nothing here switches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "predict/virtual_time.h"

namespace fgmpi::predict {

enum class TopologyKind : uint8_t { kNone, kSwitch, kFatTree, kTorus, kDragonfly, kGraph };
const char* name_of(TopologyKind kind);

struct TopologyLink {
  double per_byte = 0;  ///< picoseconds a byte; 0: no bound
  VirtualTime latency = 0;
};

/// What the file says of it.
struct TopologyShape {
  TopologyKind kind = TopologyKind::kNone;
  /// Fat tree: down and up of each level, the lowest first. Torus: the dimensions. Dragonfly:
  /// groups, routers of a group, nodes of a router, links of a router to other groups. Graph: nodes
  /// and other vertices.
  std::vector<uint32_t> numbers;
  /// Switch: itself. Fat tree: of each level. Torus: all. Dragonfly: within groups, between them.
  std::vector<TopologyLink> links;
  /// Graph: each of both directions. Vertices are numbered, the nodes first.
  struct TopologyEdge {
    uint32_t ends[2];
    TopologyLink link;
  };
  std::vector<TopologyEdge> edges;

  /// How many nodes it has; UINT64_MAX: any number.
  uint64_t nodes() const;
  /// Errors: what is wrong with the numbers, without a place.
  std::string complaint() const;
};

class MachineTopology {
 public:
  /// REQUIRES: no complaint().
  explicit MachineTopology(TopologyShape shape);

  /// The links are numbered from 0 to links() - 1.
  uint64_t links() const { return links_; }
  const TopologyLink& link(uint32_t number) const;
  /// Puts the links from one node to another one into *way, in order.
  void route(uint32_t from, uint32_t to, std::vector<uint32_t>* way) const;
  /// The latencies of the links on that way, in all.
  VirtualTime latency(uint32_t from, uint32_t to) const;

 private:
  void route_tree(uint32_t from, uint32_t to, std::vector<uint32_t>* way) const;
  void route_torus(uint32_t from, uint32_t to, std::vector<uint32_t>* way) const;
  void route_dragonfly(uint32_t from, uint32_t to, std::vector<uint32_t>* way) const;
  void route_graph(uint32_t from, uint32_t to, std::vector<uint32_t>* way) const;
  const std::vector<uint32_t>& next_links(uint32_t to) const;
  uint32_t local_link(uint32_t group, uint32_t from, uint32_t to) const;

  const TopologyShape shape_;
  uint64_t links_ = 0;
  /// Fat tree: the first link of each level above the lowest, and how many there are upwards.
  std::vector<uint64_t> level_first_, level_up_;
  /// Graph: for each vertex, its links out; for each node that something was sent to, the link that
  /// each vertex takes to it.
  std::vector<std::vector<uint32_t>> out_;
  mutable std::vector<std::vector<uint32_t>> next_;
  mutable std::vector<uint32_t> way_;  ///< of latency()
};

}  // namespace fgmpi::predict
