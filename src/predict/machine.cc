// The text by which mpiexec gives a machine to the processes that it starts.

#include "predict/machine.h"

#include <mpi.h>

#include <cinttypes>
#include <cstdio>
#include <sstream>

namespace fgmpi::predict {
namespace {

const char* name_of(ComputeModel model) {
  constexpr const char* kNames[] = {"measured", "typical", "none", "repeated"};
  return kNames[static_cast<size_t>(model)];
}

void append_class(std::string* out, const char* name, const LinkClass& links) {
  char line[256];
  std::snprintf(line, sizeof line, "eager %s %" PRIu64 "\n", name, links.eager_bytes);
  *out += line;
  for (const LinkPiece& p : links.pieces) {
    std::snprintf(line, sizeof line,
                  "piece %s %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %.17g\n",
                  name, p.from_bytes, p.latency, p.send_overhead, p.receive_overhead, p.gap,
                  p.per_byte);
    *out += line;
  }
}

void append_topology(std::string* out, const TopologyShape& shape) {
  if (shape.kind == TopologyKind::kNone) return;
  std::ostringstream text;
  text.precision(17);
  text << "topology " << static_cast<int>(shape.kind);
  for (const uint32_t n : shape.numbers) text << ' ' << n;
  text << '\n';
  for (const TopologyLink& link : shape.links)
    text << "topology_link " << link.per_byte << ' ' << link.latency << '\n';
  for (const TopologyShape::TopologyEdge& e : shape.edges)
    text << "topology_edge " << e.ends[0] << ' ' << e.ends[1] << ' ' << e.link.per_byte << ' '
         << e.link.latency << '\n';
  *out += text.str();
}

/// Reads one line about the topology. Returns false where it is none.
bool read_topology(const std::string& key, std::istringstream& in, TopologyShape* shape) {
  if (key == "topology") {
    int kind = 0;
    if (!(in >> kind) || kind < 0 || kind > static_cast<int>(TopologyKind::kGraph)) return false;
    shape->kind = static_cast<TopologyKind>(kind);
    for (uint32_t n = 0; in >> n;) shape->numbers.push_back(n);
    return true;
  }
  TopologyShape::TopologyEdge edge{};
  if (key == "topology_edge" && !(in >> edge.ends[0] >> edge.ends[1])) return false;
  if (!(in >> edge.link.per_byte >> edge.link.latency)) return false;
  if (key == "topology_edge")
    shape->edges.push_back(edge);
  else
    shape->links.push_back(edge.link);
  return true;
}

bool read_rule(std::istringstream& in, std::vector<CollectiveRule>* out) {
  unsigned collective = 0, algorithm = 0;
  CollectiveRule rule;
  if (!(in >> collective >> algorithm >> rule.from_bytes) || collective > UINT8_MAX ||
      algorithm >= kAlgorithms)
    return false;
  rule.collective = static_cast<uint8_t>(collective);
  rule.algorithm = static_cast<ScheduleAlgorithm>(algorithm);
  out->push_back(rule);
  return true;
}

/// Reads one line. Returns false where it is none of to_text().
bool read_line(std::istringstream& in, PredictedMachine* m) {
  std::string key, word;
  in >> key;
  if (key == "name") return static_cast<bool>(std::getline(in >> std::ws, m->name));
  if (key == "nodes") return static_cast<bool>(in >> m->nodes);
  if (key == "ranks_per_node") return in >> m->ranks_per_node && m->ranks_per_node > 0;
  if (key == "overlaps") return static_cast<bool>(in >> m->overlaps >> m->buffered_bytes);
  if (key == "factor") return static_cast<bool>(in >> m->compute_factor);
  if (key == "reduce") return static_cast<bool>(in >> m->reduce_per_byte);
  if (key == "collective") return read_rule(in, &m->collectives);
  if (key == "keeps_times") return static_cast<bool>(in >> m->keeps_times);
  if (key == "explains") return static_cast<bool>(in >> m->explains);
  if (key == "placed") {
    for (uint32_t node = 0; in >> node;) m->placed.push_back(node);
    return !m->placed.empty();
  }
  if (key == "memory")
    return static_cast<bool>(in >> m->memory.node_gb_s >> m->memory.core_gb_s >> m->memory.part);
  if (key == "files")
    return static_cast<bool>(in >> m->files.client_per_byte >> m->files.all_per_byte >>
                             m->files.open);
  if (key.starts_with("topology")) return read_topology(key, in, &m->topology);
  if (!(in >> word)) return false;
  if (key == "contention") {
    m->contention = word == "links" ? ContentionModel::kLinks : ContentionModel::kEnds;
    return true;
  }
  if (key == "placement") {
    m->placement = word == "cyclic" ? NodePlacement::kCyclic : NodePlacement::kBlock;
    return true;
  }
  if (key == "compute") {
    m->compute = word == "none"       ? ComputeModel::kNone
                 : word == "typical"  ? ComputeModel::kTypical
                 : word == "repeated" ? ComputeModel::kRepeated
                                      : ComputeModel::kMeasured;
    return true;
  }
  LinkClass& links = word == "inside" ? m->inside : m->between;
  if (key == "eager") return static_cast<bool>(in >> links.eager_bytes);
  LinkPiece p;
  if (key != "piece" || !(in >> p.from_bytes >> p.latency >> p.send_overhead >>
                          p.receive_overhead >> p.gap >> p.per_byte))
    return false;
  links.pieces.push_back(p);
  return true;
}

}  // namespace

std::string PredictedMachine::to_text() const {
  char line[512];
  std::snprintf(
      line, sizeof line,
      "name %s\nnodes %u\nranks_per_node %u\nplacement %s\ncontention %s\noverlaps %d %" PRIu64
      "\n"
      "compute %s\n"
      "factor %.17g\nreduce %.17g\nfiles %.17g %.17g %" PRId64 "\n",
      name.c_str(), nodes, ranks_per_node, placement == NodePlacement::kCyclic ? "cyclic" : "block",
      contention == ContentionModel::kLinks ? "links" : "ends", overlaps ? 1 : 0, buffered_bytes,
      name_of(compute), compute_factor, reduce_per_byte, files.client_per_byte, files.all_per_byte,
      files.open);
  std::string text = line;
  append_class(&text, "inside", inside);
  append_class(&text, "between", between);
  append_topology(&text, topology);
  if (!placed.empty()) {
    text += "placed";
    for (const uint32_t node : placed) text += " " + std::to_string(node);
    text += '\n';
  }
  if (memory.part > 0) {
    std::snprintf(line, sizeof line, "memory %.17g %.17g %.17g\n", memory.node_gb_s,
                  memory.core_gb_s, memory.part);
    text += line;
  }
  for (const CollectiveRule& r : collectives)
    text += "collective " + std::to_string(r.collective) + " " +
            std::to_string(static_cast<int>(r.algorithm)) + " " + std::to_string(r.from_bytes) +
            "\n";
  if (explains) text += "explains 1\n";
  if (keeps_times) text += "keeps_times 1\n";
  return text;
}

Status PredictedMachine::from_text(const std::string& text, PredictedMachine* out) {
  std::istringstream lines(text);
  PredictedMachine machine;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream in(line);
    if (!line.empty() && !read_line(in, &machine))
      return error(MPI_ERR_ARG, "machine of the prediction, line %d: %s", number, line.c_str());
  }
  if (machine.inside.pieces.empty() || machine.between.pieces.empty())
    return error(MPI_ERR_ARG, "machine of the prediction: it has no links");
  *out = std::move(machine);
  return {};
}

}  // namespace fgmpi::predict
