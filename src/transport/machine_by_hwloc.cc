// The machine's objects, by hwloc.

#include <hwloc.h>
#include <strings.h>

#include "transport/machine.h"

namespace fgmpi::transport {
namespace {

/// hwloc's description of the machine; nullptr where hwloc fails.
hwloc_topology_t topology() {
  static const hwloc_topology_t known = [] {
    hwloc_topology_t loaded = nullptr;
    if (hwloc_topology_init(&loaded) != 0) return hwloc_topology_t{};
    if (hwloc_topology_load(loaded) == 0) return loaded;
    hwloc_topology_destroy(loaded);
    return hwloc_topology_t{};
  }();
  return known;
}

ProcessingUnits units_of(hwloc_const_bitmap_t set) {
  ProcessingUnits units;
  unsigned unit;
  hwloc_bitmap_foreach_begin(unit, set) units.push_back(static_cast<int>(unit));
  hwloc_bitmap_foreach_end();
  return units;
}

}  // namespace

ProcessingUnits own_processing_units() {
  if (!topology()) return {};
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  ProcessingUnits units;
  if (hwloc_get_cpubind(topology(), set, HWLOC_CPUBIND_PROCESS) == 0) units = units_of(set);
  hwloc_bitmap_free(set);
  return units;
}

const ProcessingUnits& all_processing_units() {
  static const ProcessingUnits all =
      topology() ? units_of(hwloc_topology_get_topology_cpuset(topology())) : ProcessingUnits();
  return all;
}

std::optional<std::vector<ProcessingUnits>> objects_of_machine(const std::string& kind) {
  hwloc_obj_type_t type;
  hwloc_obj_attr_u attributes;
  if (!topology() || hwloc_type_sscanf(kind.c_str(), &type, &attributes, sizeof attributes) != 0)
    return std::nullopt;
  const int depth = hwloc_get_type_depth(topology(), type);
  if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return std::nullopt;
  // hwloc accepts any beginning of a name as the name.
  char longer[64];
  hwloc_obj_t first = hwloc_get_obj_by_depth(topology(), depth, 0);
  if (!first || hwloc_obj_type_snprintf(longer, sizeof longer, first, 1) < 0) return std::nullopt;
  if (strcasecmp(kind.c_str(), longer) != 0 &&
      strcasecmp(kind.c_str(), hwloc_obj_type_string(type)) != 0)
    return std::nullopt;
  std::vector<ProcessingUnits> objects;
  for (hwloc_obj_t o = first; o; o = o->next_cousin)
    objects.push_back(o->cpuset ? units_of(o->cpuset) : ProcessingUnits());
  return objects;
}

}  // namespace fgmpi::transport
