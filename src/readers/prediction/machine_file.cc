// The keys of a machine's file, and what is allowed for each.

#include "readers/prediction/machine_file.h"

#include <mpi.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <sstream>

#include "base/strings.h"
#include "readers/prediction/json_keys.h"
#include "readers/prediction/network.h"

namespace fgmpi::predict {
namespace {

using JsonKind = JsonValue::JsonKind;

class MachineReader : JsonKeys {
 public:
  using JsonKeys::JsonKeys;

  Status machine(const JsonValue& root, PredictedMachine* out) const {
    FGMPI_TRY(keys(root, "the file",
                   {"name", "nodes", "compute", "links", "network", "progress", "buffered",
                    "file_system", "collectives"}));
    if (const JsonValue* name = root.find("name")) FGMPI_TRY(string(*name, "name", &out->name));
    if (const JsonValue* nodes = root.find("nodes")) FGMPI_TRY(read_nodes(*nodes, out));
    if (const JsonValue* compute = root.find("compute")) FGMPI_TRY(read_compute(*compute, out));
    if (const JsonValue* progress = root.find("progress")) {
      std::string word;
      FGMPI_TRY(one_of(*progress, "progress", {"always", "in calls"}, &word));
      out->overlaps = word == "always";
    }
    double buffered = 0;
    FGMPI_TRY(whole_number(root, "buffered", 0, 1e12, &buffered));
    if (root.find("buffered")) out->buffered_bytes = static_cast<uint64_t>(buffered);
    if (const JsonValue* files = root.find("file_system"))
      FGMPI_TRY(read_files(*files, &out->files));
    if (const JsonValue* rules = root.find("collectives"))
      FGMPI_TRY(read_rules(*rules, &out->collectives));
    const JsonValue* links = root.find("links");
    if (!links) return missing(root, "links");
    FGMPI_TRY(keys(*links, "links", {"inside", "between"}));
    FGMPI_TRY(read_class(*links, "inside", &out->inside));
    FGMPI_TRY(read_class(*links, "between", &out->between));
    if (const JsonValue* network = root.find("network"))
      FGMPI_TRY(read_network(*this, *network, &out->topology));
    return check_nodes(root, out);
  }

 private:
  Status read_nodes(const JsonValue& nodes, PredictedMachine* out) const {
    FGMPI_TRY(keys(nodes, "nodes", {"count", "ranks", "placement"}));
    double count = 0, ranks = 1;
    FGMPI_TRY(whole_number(nodes, "count", 1, 1e6, &count));
    FGMPI_TRY(whole_number(nodes, "ranks", 1, 1e5, &ranks));
    out->nodes = static_cast<uint32_t>(count);
    if (const JsonValue* value = nodes.find("count")) out->nodes_line = value->line;
    out->ranks_per_node = static_cast<uint32_t>(ranks);
    std::string word = "block";
    const JsonValue* const placement = nodes.find("placement");
    if (placement && placement->kind == JsonKind::kObject) return read_placement(*placement, out);
    if (placement) FGMPI_TRY(one_of(*placement, "placement", {"block", "cyclic"}, &word));
    out->placement = word == "cyclic" ? NodePlacement::kCyclic : NodePlacement::kBlock;
    return {};
  }
  /// Reads the file with the node of each rank, which lies beside the machine's.
  Status read_placement(const JsonValue& placement, PredictedMachine* out) const {
    FGMPI_TRY(keys(placement, "placement", {"file"}));
    const JsonValue* const name = placement.find("file");
    if (!name) return missing(placement, "file");
    std::string path;
    FGMPI_TRY(string(*name, "file", &path));
    const size_t slash = file().rfind('/');
    if (!path.starts_with('/') && slash != std::string::npos)
      path = file().substr(0, slash + 1) + path;
    std::ifstream in(path);
    if (!in) return at(*name, format("file: %s cannot be read", path.c_str()).c_str());
    std::vector<uint32_t> ranks_of_nodes;
    int line = 0;
    for (std::string text; std::getline(in, text);) {
      ++line;
      std::istringstream words(text.substr(0, text.find('#')));
      for (std::string word; words >> word;) {
        const auto node = parse_int(word);
        const int64_t most = out->nodes ? out->nodes : 1'000'000;
        if (!node || *node < 0 || *node >= most)
          return error(MPI_ERR_ARG,
                       "%s, line %d: %s: allowed is the number of a node from 0 to %lld",
                       path.c_str(), line, word.c_str(), static_cast<long long>(most - 1));
        const auto number = static_cast<uint32_t>(*node);
        if (number >= ranks_of_nodes.size()) ranks_of_nodes.resize(number + size_t{1});
        if (++ranks_of_nodes[number] > out->ranks_per_node)
          return error(MPI_ERR_ARG, "%s, line %d: node %u: it has more than %u ranks", path.c_str(),
                       line, number, out->ranks_per_node);
        out->placed.push_back(number);
      }
    }
    if (out->placed.empty()) return at(*name, format("file: %s is empty", path.c_str()).c_str());
    return {};
  }
  /// A topology bounds the number of nodes, where the file does not.
  Status check_nodes(const JsonValue& root, PredictedMachine* out) const {
    const uint64_t held = out->topology.nodes();
    if (held == UINT64_MAX) return {};
    for (const uint32_t node : out->placed)
      if (node >= held)
        return error(MPI_ERR_ARG, "%s: placement: node %u; the %s has %llu nodes", file().c_str(),
                     node, name_of(out->topology.kind), static_cast<unsigned long long>(held));
    const JsonValue* network = root.find("network");
    if (out->nodes > held)
      return error(MPI_ERR_ARG, "%s, line %d: count: %u; the %s of line %d has %llu nodes",
                   file().c_str(), out->nodes_line, out->nodes, name_of(out->topology.kind),
                   network->line, static_cast<unsigned long long>(held));
    if (out->nodes == 0) {
      out->nodes = static_cast<uint32_t>(held);
      out->nodes_line = network->line;
    }
    return {};
  }
  Status read_compute(const JsonValue& compute, PredictedMachine* out) const {
    FGMPI_TRY(keys(compute, "compute", {"speed", "reduction_gb_s", "memory"}));
    if (const JsonValue* memory = compute.find("memory")) {
      MemoryShare* const share = &out->memory;
      FGMPI_TRY(keys(*memory, "memory", {"node_gb_s", "core_gb_s", "part"}));
      for (const char* key : {"node_gb_s", "core_gb_s", "part"})
        if (!memory->find(key)) return missing(*memory, key);
      FGMPI_TRY(number(*memory, "node_gb_s", 1e-3, 1e6, &share->node_gb_s));
      FGMPI_TRY(number(*memory, "core_gb_s", 1e-3, 1e6, &share->core_gb_s));
      FGMPI_TRY(number(*memory, "part", 0, 1, &share->part));
    }
    double speed = 1, reduction = 10;
    FGMPI_TRY(number(compute, "speed", 1e-3, 1e3, &speed));
    FGMPI_TRY(number(compute, "reduction_gb_s", 1e-3, 1e4, &reduction));
    out->compute_factor = 1 / speed;
    out->reduce_per_byte = 1000 / reduction;
    return {};
  }
  Status read_files(const JsonValue& files, FileSystem* out) const {
    FGMPI_TRY(keys(files, "file_system", {"client_gb_s", "all_gb_s", "open_us"}));
    double client = 0, all = 0, open = 0;
    FGMPI_TRY(number(files, "client_gb_s", 1e-6, 1e6, &client));
    FGMPI_TRY(number(files, "all_gb_s", 1e-6, 1e6, &all));
    FGMPI_TRY(number(files, "open_us", 0, 1e9, &open));
    if (client > 0) out->client_per_byte = 1000 / client;
    if (all > 0) out->all_per_byte = 1000 / all;
    out->open = from_ns(open * 1000);
    return {};
  }
  /// Reads the algorithms of collectives: the name of one, or an array of names from sizes on.
  Status read_rules(const JsonValue& rules, std::vector<CollectiveRule>* out) const {
    if (rules.kind != JsonKind::kObject)
      return at(rules, "collectives: allowed is an object { ... }");
    for (const auto& [name, value] : rules.members) {
      const RuledCollective* const collective = find_ruled_collective(name);
      if (!collective) {
        std::string list;
        for (const RuledCollective& r : ruled_collectives())
          list += (list.empty() ? "" : ", ") + std::string(name_of_collective(r.collective));
        return at(value,
                  format("%s in collectives: allowed are %s", name.c_str(), list.c_str()).c_str());
      }
      if (value.kind != JsonKind::kArray) {
        FGMPI_TRY(read_rule(*collective, value, 0, out));
        continue;
      }
      for (const JsonValue& item : value.items) {
        FGMPI_TRY(keys(item, name.c_str(), {"from", "algorithm"}));
        double from = 0;
        FGMPI_TRY(whole_number(item, "from", 0, 1e12, &from));
        const JsonValue* const algorithm = item.find("algorithm");
        if (!algorithm) return missing(item, "algorithm");
        FGMPI_TRY(read_rule(*collective, *algorithm, static_cast<uint64_t>(from), out));
      }
    }
    return {};
  }
  Status read_rule(const RuledCollective& collective, const JsonValue& value, uint64_t from,
                   std::vector<CollectiveRule>* out) const {
    const char* const name = name_of_collective(collective.collective);
    std::string word, list;
    FGMPI_TRY(string(value, name, &word));
    for (const ScheduleAlgorithm algorithm : collective.allowed) {
      if (word == name_of(algorithm)) {
        out->push_back({collective.collective, algorithm, from});
        return {};
      }
      list += (list.empty() ? "" : ", ") + std::string(name_of(algorithm));
    }
    return at(value, format("%s: %s: allowed are %s", name, word.c_str(), list.c_str()).c_str());
  }
  Status read_piece(const JsonValue& piece, LinkPiece* out) const {
    double from = 0, latency = 0, send = 0, receive = 0, gap = 0, bandwidth = 0;
    FGMPI_TRY(whole_number(piece, "from", 0, 1e12, &from));
    FGMPI_TRY(number(piece, "latency_ns", 0, 1e9, &latency));
    FGMPI_TRY(number(piece, "send_ns", 0, 1e9, &send));
    FGMPI_TRY(number(piece, "receive_ns", 0, 1e9, &receive));
    FGMPI_TRY(number(piece, "gap_ns", 0, 1e9, &gap));
    FGMPI_TRY(number(piece, "gb_s", 1e-6, 1e6, &bandwidth));
    if (!piece.find("latency_ns")) return missing(piece, "latency_ns");
    if (!piece.find("gb_s")) return missing(piece, "gb_s");
    *out = {static_cast<uint64_t>(from),
            from_ns(latency),
            from_ns(send),
            from_ns(receive),
            from_ns(gap),
            1000 / bandwidth};
    return {};
  }
  /// Reads a class of links: its parameters, or an array of them in "pieces".
  Status read_class(const JsonValue& links, const char* name, LinkClass* out) const {
    const JsonValue* value = links.find(name);
    if (!value) return missing(links, name);
    FGMPI_TRY(keys(*value, name,
                   {"eager", "pieces", "latency_ns", "send_ns", "receive_ns", "gap_ns", "gb_s"}));
    double eager = 65'536;
    FGMPI_TRY(whole_number(*value, "eager", 0, 1e12, &eager));
    out->eager_bytes = static_cast<uint64_t>(eager);
    const JsonValue* pieces = value->find("pieces");
    if (!pieces) return read_piece(*value, &out->pieces.emplace_back());
    if (pieces->kind != JsonKind::kArray || pieces->items.empty())
      return at(*pieces, "pieces: allowed is an array of at least one { ... }");
    for (const JsonValue& piece : pieces->items) {
      FGMPI_TRY(
          keys(piece, "pieces", {"from", "latency_ns", "send_ns", "receive_ns", "gap_ns", "gb_s"}));
      FGMPI_TRY(read_piece(piece, &out->pieces.emplace_back()));
      const size_t n = out->pieces.size();
      const uint64_t from = out->pieces[n - 1].from_bytes;
      if (n == 1 ? from != 0 : from <= out->pieces[n - 2].from_bytes)
        return at(piece, "from: allowed is 0 in the first piece, then ascending numbers of bytes");
    }
    return {};
  }
};

}  // namespace

Status read_machine(const std::string& text, const std::string& name, PredictedMachine* out) {
  JsonValue root;
  FGMPI_TRY(read_json(text, name, &root));
  PredictedMachine machine;
  machine.name = name;
  FGMPI_TRY(MachineReader(name).machine(root, &machine));
  *out = std::move(machine);
  return {};
}

Status check_ranks(const PredictedMachine& machine, const std::string& named, int64_t ranks) {
  const auto placed = static_cast<int64_t>(machine.placed.size());
  if (placed > 0 && ranks > placed)
    return error(MPI_ERR_ARG, "-predict %s: its placement has %lld ranks; %lld are to run",
                 named.c_str(), static_cast<long long>(placed), static_cast<long long>(ranks));
  const int64_t held = int64_t{machine.nodes} * machine.ranks_per_node;
  if (machine.nodes == 0 || ranks <= held) return {};
  return error(MPI_ERR_ARG,
               "-predict %s, line %d: count: %u nodes of %u ranks hold %lld ranks; %lld are to run",
               named.c_str(), machine.nodes_line, machine.nodes, machine.ranks_per_node,
               static_cast<long long>(held), static_cast<long long>(ranks));
}

Status find_machine(const std::string& named, PredictedMachine* out) {
  std::string presets;
  for (const MachinePreset& preset : machine_presets()) {
    if (named == preset.name) return read_machine(preset.json, preset.name, out);
    presets += (presets.empty() ? "" : ", ") + std::string(preset.name);
  }
  std::ifstream in(named);
  std::stringstream text;
  text << in.rdbuf();
  if (!in)
    return error(
        MPI_ERR_ARG,
        "-predict %s: cannot be read; allowed is a file that describes a machine, or one of "
        "%s",
        named.c_str(), presets.c_str());
  return read_machine(text.str(), named, out);
}

}  // namespace fgmpi::predict
