// The objects of the machine around this process, from hwloc.

#include "comm/hardware.h"

#include <hwloc.h>
#include <strings.h>
#include <unistd.h>

#include <cstdlib>

#include "base/hash.h"
#include "transport/host_id.h"

namespace fgmpi::comm {
namespace {

/// The machine and the processors on which this process may run; topology is nullptr when
/// hwloc fails.
struct Machine {
  hwloc_topology_t topology = nullptr;
  hwloc_bitmap_t binding = nullptr;
  Machine() {
    if (hwloc_topology_init(&topology) != 0) return;
    if (hwloc_topology_load(topology) != 0) {
      hwloc_topology_destroy(topology);
      topology = nullptr;
      return;
    }
    binding = hwloc_bitmap_alloc();
    if (hwloc_get_cpubind(topology, binding, HWLOC_CPUBIND_PROCESS) != 0)
      hwloc_bitmap_copy(binding, hwloc_topology_get_topology_cpuset(topology));
  }
};

const Machine& machine() {
  static const Machine* m = new Machine;
  return *m;
}

}  // namespace

uint64_t host_number() {
  static const uint64_t number = [] {
    return hash_text(transport::host_id()) & ((uint64_t{1} << 62) - 1);
  }();
  return number;
}

int64_t resource_instance(const std::string& kind) {
  std::string name = kind;
  if (name.rfind("hwloc://", 0) == 0) name.erase(0, 8);
  if (strcasecmp(name.c_str(), "process") == 0) return getpid();  // of this host, whatever the job
  const Machine& m = machine();
  hwloc_obj_type_t type;
  hwloc_obj_attr_u attributes;
  if (!m.topology || hwloc_type_sscanf(name.c_str(), &type, &attributes, sizeof attributes) != 0)
    return -2;
  int depth = hwloc_get_type_depth(m.topology, type);
  if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return -2;
  // hwloc accepts any beginning of a name as the name.
  char longer[64];
  hwloc_obj_t first = hwloc_get_obj_by_depth(m.topology, depth, 0);
  if (!first || hwloc_obj_type_snprintf(longer, sizeof longer, first, 1) < 0) return -2;
  if (strcasecmp(name.c_str(), longer) != 0 &&
      strcasecmp(name.c_str(), hwloc_obj_type_string(type)) != 0)
    return -2;
  for (hwloc_obj_t o = first; o; o = o->next_cousin)
    if (o->cpuset && !hwloc_bitmap_iszero(o->cpuset) &&
        hwloc_bitmap_isincluded(m.binding, o->cpuset))
      return o->logical_index;
  return -1;
}

const std::vector<std::string>& resource_levels() {
  static const std::vector<std::string> kLevels = {"Package", "NUMANode", "L3Cache", "L2Cache",
                                                   "Core",    "PU",       "process"};
  return kLevels;
}

}  // namespace fgmpi::comm
