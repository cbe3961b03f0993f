// The keys of each topology.

#include "readers/prediction/network.h"

#include <cmath>
#include <map>
#include <vector>

namespace fgmpi::predict {
namespace {

using JsonKind = JsonValue::JsonKind;

class NetworkReader {
 public:
  NetworkReader(const JsonKeys& keys, TopologyShape* out) : keys_(keys), out_(*out) {}

  Status read(const JsonValue& network) {
    const JsonValue* kind = network.find("topology");
    if (!kind) return keys_.missing(network, "topology");
    std::string word;
    FGMPI_TRY(keys_.one_of(*kind, "topology", {"switch", "fat tree", "torus", "dragonfly", "graph"},
                           &word));
    if (word == "switch") return read_switch(network);
    if (word == "fat tree") return read_tree(network);
    if (word == "torus") return read_torus(network);
    if (word == "dragonfly") return read_dragonfly(network);
    return read_graph(network);
  }

 private:
  /// Reads the bandwidth and the latency of a kind of links.
  Status read_link(const JsonValue& value, TopologyLink* out) const {
    double bandwidth = 0, latency = 0;
    FGMPI_TRY(keys_.number(value, "gb_s", 1e-6, 1e9, &bandwidth));
    FGMPI_TRY(keys_.number(value, "latency_ns", 0, 1e9, &latency));
    out->per_byte = bandwidth > 0 ? 1000 / bandwidth : 0;
    out->latency = from_ns(latency);
    return {};
  }
  /// Reads a whole number that must be there.
  Status read_count(const JsonValue& value, const char* key, uint32_t* out) const {
    double number = 0;
    FGMPI_TRY(keys_.whole_number(value, key, 1, 1e6, &number));
    if (!value.find(key)) return keys_.missing(value, key);
    *out = static_cast<uint32_t>(number);
    return {};
  }
  Status array(const JsonValue& in, const char* key, const JsonValue** out) const {
    *out = in.find(key);
    if (!*out) return keys_.missing(in, key);
    if ((*out)->kind != JsonKind::kArray || (*out)->items.empty())
      return keys_.at(**out,
                      format("%s: allowed is an array of at least one element", key).c_str());
    return {};
  }
  Status check(const JsonValue& network) const {
    const std::string wrong = out_.complaint();
    return wrong.empty() ? Status() : keys_.at(network, ("network: " + wrong).c_str());
  }

  Status read_switch(const JsonValue& network) {
    FGMPI_TRY(keys_.keys(network, "network", {"topology", "gb_s", "latency_ns"}));
    out_.kind = TopologyKind::kSwitch;
    return read_link(network, &out_.links.emplace_back());
  }

  Status read_tree(const JsonValue& network) {
    FGMPI_TRY(keys_.keys(network, "network", {"topology", "levels"}));
    const JsonValue* levels = nullptr;
    FGMPI_TRY(array(network, "levels", &levels));
    for (const JsonValue& level : levels->items) {
      const bool lowest = out_.links.empty();
      if (lowest)
        FGMPI_TRY(keys_.keys(level, "levels, the first one", {"down"}));
      else
        FGMPI_TRY(keys_.keys(level, "levels", {"down", "up", "gb_s", "latency_ns"}));
      uint32_t down = 0;
      double up = 1;
      FGMPI_TRY(read_count(level, "down", &down));
      FGMPI_TRY(keys_.whole_number(level, "up", 1, 1e4, &up));
      FGMPI_TRY(read_link(level, &out_.links.emplace_back()));
      out_.numbers.push_back(down);
      out_.numbers.push_back(static_cast<uint32_t>(up));
    }
    out_.kind = TopologyKind::kFatTree;
    return check(network);
  }

  Status read_torus(const JsonValue& network) {
    FGMPI_TRY(keys_.keys(network, "network", {"topology", "dimensions", "gb_s", "latency_ns"}));
    const JsonValue* dimensions = nullptr;
    FGMPI_TRY(array(network, "dimensions", &dimensions));
    for (const JsonValue& n : dimensions->items) {
      if (n.kind != JsonKind::kNumber || n.number < 1 || n.number > 1e6 ||
          n.number != std::floor(n.number))
        return keys_.at(n, "dimensions: allowed are whole numbers from 1 to 1e+06");
      out_.numbers.push_back(static_cast<uint32_t>(n.number));
    }
    out_.kind = TopologyKind::kTorus;
    FGMPI_TRY(read_link(network, &out_.links.emplace_back()));
    return check(network);
  }

  Status read_dragonfly(const JsonValue& network) {
    FGMPI_TRY(keys_.keys(
        network, "network",
        {"topology", "groups", "routers", "nodes", "global", "in group", "between groups"}));
    for (const char* key : {"groups", "routers", "nodes", "global"})
      FGMPI_TRY(read_count(network, key, &out_.numbers.emplace_back()));
    for (const char* key : {"in group", "between groups"}) {
      TopologyLink& link = out_.links.emplace_back();
      const JsonValue* value = network.find(key);
      if (!value) continue;
      FGMPI_TRY(keys_.keys(*value, key, {"gb_s", "latency_ns"}));
      FGMPI_TRY(read_link(*value, &link));
    }
    out_.kind = TopologyKind::kDragonfly;
    return check(network);
  }

  /// The number of the vertex at an end of a link: a node's number, or a switch's name.
  Status read_end(const JsonValue& end, uint32_t nodes, uint32_t* out) {
    if (end.kind == JsonKind::kNumber && end.number >= 0 && end.number < nodes &&
        end.number == std::floor(end.number)) {
      *out = static_cast<uint32_t>(end.number);
      return {};
    }
    if (end.kind != JsonKind::kString)
      return keys_.at(end, format("ends: allowed are a node's number from 0 to %u, and a switch's "
                                  "name in quotes",
                                  nodes - 1)
                               .c_str());
    const auto [known, added] =
        switches_.emplace(end.text, nodes + static_cast<uint32_t>(switches_.size()));
    *out = known->second;
    return {};
  }
  Status read_graph(const JsonValue& network) {
    FGMPI_TRY(keys_.keys(network, "network", {"topology", "nodes", "links"}));
    uint32_t nodes = 0;
    FGMPI_TRY(read_count(network, "nodes", &nodes));
    const JsonValue* links = nullptr;
    FGMPI_TRY(array(network, "links", &links));
    for (const JsonValue& link : links->items) {
      FGMPI_TRY(keys_.keys(link, "links", {"ends", "gb_s", "latency_ns"}));
      const JsonValue* ends = nullptr;
      FGMPI_TRY(array(link, "ends", &ends));
      if (ends->items.size() != 2) return keys_.at(*ends, "ends: allowed are two");
      TopologyShape::TopologyEdge& edge = out_.edges.emplace_back();
      for (size_t i = 0; i < 2; ++i) FGMPI_TRY(read_end(ends->items[i], nodes, &edge.ends[i]));
      FGMPI_TRY(read_link(link, &edge.link));
    }
    out_.numbers = {nodes, static_cast<uint32_t>(switches_.size())};
    out_.kind = TopologyKind::kGraph;
    FGMPI_TRY(check(network));
    const MachineTopology topology(out_);
    std::vector<uint32_t> way;
    for (uint32_t node = 1; node < nodes; ++node) {
      topology.route(node, 0, &way);
      if (way.empty())
        return keys_.at(*links, format("links: no way leads from node %u to node 0", node).c_str());
    }
    return {};
  }

  const JsonKeys& keys_;
  TopologyShape& out_;
  std::map<std::string, uint32_t> switches_;
};

}  // namespace

Status read_network(const JsonKeys& keys, const JsonValue& network, TopologyShape* out) {
  if (network.kind != JsonKind::kObject)
    return keys.at(network, "network: allowed is an object { ... }");
  *out = TopologyShape();
  return NetworkReader(keys, out).read(network);
}

}  // namespace fgmpi::predict
