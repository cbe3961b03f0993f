// Ways through topologies: consecutive links meet at one vertex, as many vertices as there are
// switches, and no way is longer than the topology needs.
#include "predict/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace fgmpi::predict {
namespace {

/// Sets of names that are the same vertex.
class Vertices {
 public:
  explicit Vertices(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  size_t find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t a, size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<size_t> parent_;
};

struct WaysFound {
  size_t vertices = 0, longest = 0, links = 0;
};

/// Goes all ways. The switch of each node, the beginning and the end of each link are names of
/// vertices, which the ways show to be the same.
WaysFound go_all_ways(const TopologyShape& shape) {
  const MachineTopology topology(shape);
  const auto nodes = static_cast<uint32_t>(shape.nodes());
  const size_t links = topology.links();
  Vertices vertices(nodes + 2 * links);
  std::set<uint32_t> used;
  std::vector<uint32_t> way;
  WaysFound found;
  for (uint32_t from = 0; from < nodes; ++from)
    for (uint32_t to = 0; to < nodes; ++to) {
      topology.route(from, to, &way);
      found.longest = std::max(found.longest, way.size());
      size_t at = from;
      for (const uint32_t link : way) {
        EXPECT_LT(link, links);
        used.insert(link);
        vertices.join(at, nodes + 2 * link);
        at = nodes + 2 * link + 1;
      }
      if (from != to) vertices.join(at, to);
      EXPECT_EQ(std::set<uint32_t>(way.begin(), way.end()).size(), way.size()) << "a link twice";
    }
  std::set<size_t> classes;
  for (uint32_t node = 0; node < nodes; ++node) classes.insert(vertices.find(node));
  for (const uint32_t link : used)
    for (const size_t end : {0, 1}) classes.insert(vertices.find(nodes + 2 * link + end));
  found.vertices = classes.size();
  found.links = used.size();
  return found;
}

TopologyShape shape_of(TopologyKind kind, std::vector<uint32_t> numbers) {
  TopologyShape shape;
  shape.kind = kind;
  shape.numbers = std::move(numbers);
  shape.links.resize(8);
  EXPECT_EQ(shape.complaint(), "");
  return shape;
}

TEST(Topology, FatTreesHaveTheirSwitches) {
  // 6 leaf switches with 2 nodes each, 3 * 2 of the next level, 2 * 3 at the top.
  const WaysFound found = go_all_ways(shape_of(TopologyKind::kFatTree, {2, 1, 2, 2, 3, 3}));
  EXPECT_EQ(found.vertices, 6u + 6u + 6u);
  EXPECT_EQ(found.longest, 4u);
  const WaysFound wide = go_all_ways(shape_of(TopologyKind::kFatTree, {4, 1, 3, 4}));
  EXPECT_EQ(wide.vertices, 3u + 4u);
  EXPECT_EQ(wide.links, 2u * 3u * 4u);  // the receivers' numbers use all links
}

TEST(Topology, TorusesGoTheShorterWay) {
  const WaysFound found = go_all_ways(shape_of(TopologyKind::kTorus, {4, 3, 2}));
  EXPECT_EQ(found.vertices, 24u);
  EXPECT_EQ(found.longest, 2u + 1u + 1u);
  EXPECT_EQ(go_all_ways(shape_of(TopologyKind::kTorus, {9})).longest, 4u);
}

TEST(Topology, DragonfliesHaveOneLinkBetweenGroups) {
  for (const auto& numbers : std::vector<std::vector<uint32_t>>{
           {9, 4, 2, 2}, {3, 2, 2, 1}, {3, 4, 1, 2}, {1, 4, 3, 1}, {2, 1, 3, 1}}) {
    const WaysFound found = go_all_ways(shape_of(TopologyKind::kDragonfly, numbers));
    EXPECT_EQ(found.vertices, size_t{numbers[0]} * numbers[1]);
    EXPECT_LE(found.longest, 3u);
  }
  TopologyShape few = shape_of(TopologyKind::kDragonfly, {3, 2, 2, 1});
  few.numbers[0] = 4;
  EXPECT_EQ(few.complaint(), "2 routers with 1 links to other groups do not reach 3 groups");
}

/// Random graphs: ways have the fewest links, as Floyd and Warshall find them.
TEST(Topology, GraphsGoTheFewestLinks) {
  std::mt19937 dice(3);
  for (int round = 0; round < 20; ++round) {
    const uint32_t nodes = 6, switches = 5, all = nodes + switches;
    TopologyShape shape = shape_of(TopologyKind::kGraph, {nodes, switches});
    const auto add = [&](uint32_t a, uint32_t b) { shape.edges.push_back({{a, b}, {0, 10}}); };
    const auto below = [&](uint32_t n) { return nodes + static_cast<uint32_t>(dice() % n); };
    for (uint32_t i = 0; i < nodes; ++i) add(i, below(switches));
    for (uint32_t i = 1; i < switches; ++i) add(nodes + i, below(i));
    for (int i = 0; i < 3; ++i) add(below(switches), below(switches));
    std::vector<std::vector<size_t>> far(all, std::vector<size_t>(all, 99));
    for (const auto& e : shape.edges) far[e.ends[0]][e.ends[1]] = far[e.ends[1]][e.ends[0]] = 1;
    for (uint32_t k = nodes; k < all; ++k)
      for (uint32_t i = 0; i < all; ++i)
        for (uint32_t j = 0; j < all; ++j) far[i][j] = std::min(far[i][j], far[i][k] + far[k][j]);
    const MachineTopology topology(shape);
    std::vector<uint32_t> way;
    for (uint32_t from = 0; from < nodes; ++from)
      for (uint32_t to = 0; to < nodes; ++to) {
        if (from == to) continue;
        topology.route(from, to, &way);
        ASSERT_EQ(way.size(), far[from][to]) << from << " to " << to;
        EXPECT_EQ(topology.latency(from, to), 10 * static_cast<VirtualTime>(way.size()));
        uint32_t at = from;
        for (const uint32_t link : way) {
          ASSERT_EQ(shape.edges[link / 2].ends[link % 2], at);
          at = shape.edges[link / 2].ends[1 - link % 2];
        }
        ASSERT_EQ(at, to);
      }
  }
}

}  // namespace
}  // namespace fgmpi::predict
