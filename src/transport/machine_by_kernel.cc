// The machine's objects in a build without hwloc, by the files in which the kernel lists the
// processing units of each:
//
//   /sys/devices/system/cpu/online                                    all
//   /sys/devices/system/cpu/cpuN/topology/core_siblings_list          those in the package of N
//   /sys/devices/system/cpu/cpuN/topology/thread_siblings_list        those in its core
//   /sys/devices/system/cpu/cpuN/cache/indexK/shared_cpu_list         those at a cache of N
//   /sys/devices/system/node/nodeN/cpulist                            those of a NUMA node

#include <sched.h>
#include <strings.h>

#include <algorithm>
#include <memory>

#include "base/file_text.h"
#include "base/split.h"
#include "base/strings.h"
#include "transport/machine.h"

namespace fgmpi::transport {
namespace {

const std::string kProcessors = "/sys/devices/system/cpu/", kNodes = "/sys/devices/system/node/";
/// No kernel has more processing units.
constexpr int kMostUnits = 1 << 16;

/// Reads a list as "0-3,7"; empty where the file does not have one.
ProcessingUnits read_units(const std::string& path) {
  ProcessingUnits units;
  const std::string text = first_word_of_file(path.c_str());
  for (std::string_view range : split(text, ',')) {
    const size_t dash = std::min(range.find('-'), range.size());
    const auto first = parse_int(std::string(range.substr(0, dash)));
    const auto last = dash < range.size() ? parse_int(std::string(range.substr(dash + 1))) : first;
    if (!first || !last || *first < 0 || *last >= kMostUnits) return {};
    for (int64_t unit = *first; unit <= *last; ++unit) units.push_back(static_cast<int>(unit));
  }
  return units;
}

std::string folder_of(int unit) { return kProcessors + "cpu" + std::to_string(unit) + "/"; }

/// The units at a cache of that level which holds data, beside this unit.
ProcessingUnits beside_at_cache(int unit, int64_t level) {
  for (int index = 0;; ++index) {
    const std::string folder = folder_of(unit) + "cache/index" + std::to_string(index) + "/";
    const auto found = parse_int(first_word_of_file((folder + "level").c_str()));
    if (!found) return {};
    if (*found == level && first_word_of_file((folder + "type").c_str()) != "Instruction")
      return read_units(folder + "shared_cpu_list");
  }
}

/// Asks each unit which ones share its object: objects, in the order of their first units.
template <class Beside>
std::vector<ProcessingUnits> objects_by(Beside beside) {
  std::vector<ProcessingUnits> objects;
  std::vector<bool> seen(kMostUnits);
  for (int unit : all_processing_units()) {
    if (seen[unit]) continue;
    ProcessingUnits object = beside(unit);
    for (int other : object) seen[other] = true;
    if (!object.empty()) objects.push_back(std::move(object));
  }
  return objects;
}

std::vector<ProcessingUnits> numa_nodes() {
  std::vector<ProcessingUnits> nodes;
  for (int node : read_units(kNodes + "online"))
    nodes.push_back(read_units(kNodes + "node" + std::to_string(node) + "/cpulist"));
  return nodes;
}

std::vector<ProcessingUnits> find_objects(const std::string& kind) {
  auto is = [&](const char* name) { return strcasecmp(kind.c_str(), name) == 0; };
  if (is("Machine") && !all_processing_units().empty()) return {all_processing_units()};
  if (is("Package"))
    return objects_by(
        [](int u) { return read_units(folder_of(u) + "topology/core_siblings_list"); });
  if (is("NUMANode")) return numa_nodes();
  if (is("Core"))
    return objects_by(
        [](int u) { return read_units(folder_of(u) + "topology/thread_siblings_list"); });
  if (is("PU")) return objects_by([](int u) { return ProcessingUnits{u}; });
  for (int level = 1; level <= 5; ++level)
    if (is(format("L%dCache", level).c_str()))
      return objects_by([level](int u) { return beside_at_cache(u, level); });
  return {};
}

}  // namespace

ProcessingUnits own_processing_units() {
  // The kernel refuses a set that is smaller than its own.
  for (int most = CPU_SETSIZE; most <= kMostUnits; most *= 2) {
    const size_t bytes = CPU_ALLOC_SIZE(most);
    std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(most),
                                                         [](cpu_set_t* s) { CPU_FREE(s); });
    if (sched_getaffinity(0, bytes, set.get()) != 0) continue;
    ProcessingUnits units;
    for (int unit = 0; unit < most; ++unit)
      if (CPU_ISSET_S(unit, bytes, set.get())) units.push_back(unit);
    return units;
  }
  return {};
}

const ProcessingUnits& all_processing_units() {
  static const ProcessingUnits all = read_units(kProcessors + "online");
  return all;
}

std::optional<std::vector<ProcessingUnits>> objects_of_machine(const std::string& kind) {
  std::vector<ProcessingUnits> objects = find_objects(kind);
  if (objects.empty()) return std::nullopt;
  return objects;
}

}  // namespace fgmpi::transport
