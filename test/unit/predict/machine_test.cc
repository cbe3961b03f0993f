// A machine survives the text by which mpiexec passes it on; pieces of links are found by size.
#include "predict/machine.h"

#include <gtest/gtest.h>

namespace fgmpi::predict {
namespace {

PredictedMachine example() {
  PredictedMachine m;
  m.name = "a name with spaces";
  m.nodes = 7;
  m.ranks_per_node = 3;
  m.placement = NodePlacement::kCyclic;
  m.overlaps = false;
  m.buffered_bytes = 65'000;
  m.compute = ComputeModel::kNone;
  m.compute_factor = 0.1;
  m.inside.pieces = {{0, 1, 2, 3, 4, 0.5}};
  m.between.pieces = {{0, 10, 20, 30, 40, 1.25}, {1000, 11, 21, 31, 41, 1.0 / 3}};
  m.between.eager_bytes = 12;
  m.files = {12.5, 1.0 / 3, 7};
  m.contention = ContentionModel::kLinks;
  m.topology.kind = TopologyKind::kGraph;
  m.topology.numbers = {3, 1};
  m.topology.links = {{0.25, 7}, {1.0 / 3, 0}};
  m.topology.edges = {{{0, 3}, {1.0 / 7, 5}}, {{1, 3}, {0, 0}}};
  m.placed = {3, 0, 0};
  m.memory = {100, 12.5, 0.25};
  m.collectives = {{1, ScheduleAlgorithm::kScatterRing, 7}, {12, ScheduleAlgorithm::kDoubling, 0}};
  return m;
}

TEST(Machine, TextAndBack) {
  const PredictedMachine m = example();
  PredictedMachine read;
  ASSERT_TRUE(PredictedMachine::from_text(m.to_text(), &read).ok());
  EXPECT_EQ(read.to_text(), m.to_text());
  EXPECT_EQ(read.name, m.name);
  EXPECT_EQ(read.between.pieces[1].per_byte, 1.0 / 3);
  EXPECT_FALSE(read.overlaps);
  EXPECT_EQ(read.buffered_bytes, 65'000u);
  EXPECT_EQ(read.files.all_per_byte, 1.0 / 3);
  EXPECT_EQ(read.files.open, 7);
  EXPECT_EQ(read.contention, ContentionModel::kLinks);
  EXPECT_EQ(read.placed, m.placed);
  EXPECT_EQ(read.memory.core_gb_s, 12.5);
  ASSERT_EQ(read.collectives.size(), 2u);
  EXPECT_EQ(read.collectives[0].algorithm, ScheduleAlgorithm::kScatterRing);
  EXPECT_EQ(read.collectives[0].from_bytes, 7u);
  EXPECT_EQ(read.topology.numbers, m.topology.numbers);
  EXPECT_EQ(read.topology.links[1].per_byte, 1.0 / 3);
  EXPECT_EQ(read.topology.edges[0].link.per_byte, 1.0 / 7);
}

TEST(Machine, WrongTextsAreErrors) {
  PredictedMachine read;
  const std::string good = example().to_text();
  EXPECT_FALSE(PredictedMachine::from_text("", &read).ok());
  EXPECT_FALSE(PredictedMachine::from_text(good + "colour blue\n", &read).ok());
  EXPECT_FALSE(PredictedMachine::from_text(good + "piece inside 1 2\n", &read).ok());
  EXPECT_FALSE(PredictedMachine::from_text(good + "ranks_per_node 0\n", &read).ok());
  EXPECT_FALSE(PredictedMachine::from_text(good + "collective 1 99 0\n", &read).ok());
  EXPECT_FALSE(PredictedMachine::from_text(good + "topology 17 1\n", &read).ok());
  EXPECT_FALSE(PredictedMachine::from_text(good + "topology_edge 1 2 x 3\n", &read).ok());
}

TEST(Machine, CoresShareMemory) {
  const MemoryShare none, memory = {100, 20, 0.5};
  EXPECT_EQ(none.stretch(64), 1);
  EXPECT_EQ(memory.stretch(5), 1);     // all have what they want
  EXPECT_EQ(memory.stretch(10), 1.5);  // what waits for memory takes twice as long
}

TEST(Machine, PiecesAndNodes) {
  PredictedMachine m = example();
  EXPECT_EQ(m.node_of(0, 3), 3u);
  EXPECT_EQ(m.node_of(2, 3), 0u);
  m.placed.clear();
  EXPECT_EQ(m.between.piece(999).latency, 10);
  EXPECT_EQ(m.between.piece(1000).latency, 11);
  EXPECT_EQ(m.between.piece(UINT64_MAX).latency, 11);
  EXPECT_EQ(m.node_of(4, 10), 0u);  // four nodes, cyclic
  EXPECT_EQ(m.node_of(7, 10), 3u);
  EXPECT_EQ(occupancy(m.between.pieces[0], 8), 40);
  EXPECT_EQ(occupancy(m.between.pieces[0], 800), 1000);
}

}  // namespace
}  // namespace fgmpi::predict
