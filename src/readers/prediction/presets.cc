// The machines that mpiexec -predict knows by name. Their parameters are round numbers of such
// machines as their vendors and published measurements give them; none is one machine exactly.

#include "readers/prediction/machine_file.h"

namespace fgmpi::predict {
namespace {

constexpr const char* kEthernet = R"({
  "name": "ethernet-25g",
  "nodes": {"ranks": 32},
  "links": {
    "inside":  {"latency_ns": 350, "send_ns": 120, "receive_ns": 150, "gap_ns": 50, "gb_s": 8, "eager": 65536},
    "between": {"latency_ns": 9000, "send_ns": 1800, "receive_ns": 2200, "gap_ns": 1000, "gb_s": 2.9, "eager": 65536}
  },
  "progress": "in calls"
})";
constexpr const char* kInfiniband = R"({
  "name": "infiniband-hdr",
  "nodes": {"ranks": 64},
  "links": {
    "inside":  {"latency_ns": 300, "send_ns": 100, "receive_ns": 120, "gap_ns": 40, "gb_s": 10, "eager": 16384},
    "between": {"latency_ns": 900, "send_ns": 150, "receive_ns": 200, "gap_ns": 100, "gb_s": 23.5, "eager": 16384}
  }
})";
constexpr const char* kSlingshot = R"({
  "name": "slingshot-11",
  "nodes": {"ranks": 128},
  "links": {
    "inside":  {"latency_ns": 300, "send_ns": 100, "receive_ns": 120, "gap_ns": 40, "gb_s": 12, "eager": 16384},
    "between": {"latency_ns": 1500, "send_ns": 200, "receive_ns": 250, "gap_ns": 120, "gb_s": 24, "eager": 16384}
  }
})";
constexpr const char* kOneNode = R"({
  "name": "one-node",
  "nodes": {"count": 1, "ranks": 100000},
  "links": {
    "inside":  {"latency_ns": 300, "send_ns": 100, "receive_ns": 120, "gap_ns": 40, "gb_s": 10, "eager": 65536},
    "between": {"latency_ns": 300, "send_ns": 100, "receive_ns": 120, "gap_ns": 40, "gb_s": 10, "eager": 65536}
  }
})";

}  // namespace

const char* machine_keys() {
  return R"(Keys of a machine's file (docs/predicting.md says more):
  name             a text for the summary
  nodes            {count, ranks: of a node, placement: "block", "cyclic" or {"file": node of each rank}}
  compute          {speed: of a core beside one here, reduction_gb_s: how fast operands are combined,
                   memory: {node_gb_s, core_gb_s, part: of computing that waits for memory}}
  links            {inside, between}: {latency_ns, send_ns, receive_ns, gap_ns, gb_s, eager: bytes}, or
                   {eager, pieces: [{from: bytes, latency_ns, ...}, ...]}
  network          {topology: "switch", "fat tree", "torus", "dragonfly", "graph", ...}
  collectives      {bcast: "binomial tree", allreduce: [{from: bytes, algorithm}, ...], ...}
  progress         "always", "in calls";  buffered: bytes that come while their receiver computes
  file_system      {client_gb_s, all_gb_s, open_us}
)";
}

const std::vector<MachinePreset>& machine_presets() {
  static const std::vector<MachinePreset> presets = {
      {"ethernet-25g", "nodes of 32 ranks on 25 Gbit/s Ethernet, TCP", kEthernet},
      {"infiniband-hdr", "nodes of 64 ranks on 200 Gbit/s InfiniBand", kInfiniband},
      {"slingshot-11", "nodes of 128 ranks on 200 Gbit/s Slingshot", kSlingshot},
      {"one-node", "one node with a core for each rank, shared memory", kOneNode}};
  return presets;
}

}  // namespace fgmpi::predict
