// The objects of the machine around this process.

#include "comm/hardware.h"

#include <strings.h>
#include <unistd.h>

#include <algorithm>

#include "base/hash.h"
#include "transport/host_id.h"
#include "transport/machine.h"

namespace fgmpi::comm {

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
  const auto objects = transport::objects_of_machine(name);
  if (!objects) return -2;
  transport::ProcessingUnits own = transport::own_processing_units();
  if (own.empty()) own = transport::all_processing_units();
  for (size_t k = 0; k < objects->size(); ++k) {
    const transport::ProcessingUnits& units = (*objects)[k];
    if (!units.empty() && std::includes(units.begin(), units.end(), own.begin(), own.end()))
      return static_cast<int64_t>(k);
  }
  return -1;
}

std::vector<ResourceKind> resource_kinds() {
  std::vector<ResourceKind> kinds;
  for (const char* name :
       {"Machine", "Package", "NUMANode", "L3Cache", "L2Cache", "L1Cache", "Core", "PU"})
    if (const int64_t instance = resource_instance(name); instance != -2)
      kinds.push_back({name, instance >= 0});
  return kinds;
}

const std::vector<std::string>& resource_levels() {
  static const std::vector<std::string> kLevels = {"Package", "NUMANode", "L3Cache", "L2Cache",
                                                   "Core",    "PU",       "process"};
  return kLevels;
}

}  // namespace fgmpi::comm
