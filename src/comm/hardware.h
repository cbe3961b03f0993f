// Where this process runs, as MPI_Comm_split_type sees it: the host, and the objects of the machine
// (transport/machine.h) that the process is bound to. Collocated ranks have their process's
// location. Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fgmpi::comm {

/// 62 bits that identify this host; equal for processes between which shared memory works.
uint64_t host_number();

/// The number of the instance of a kind of resource to which the process is restricted on its host;
/// -1 when it is not restricted to one, -2 when there is no such kind. Kinds: hwloc's names
/// ("Package", "NUMANode", "L3Cache", "Core", ...), in any case, also "hwloc://NUMANode"; and
/// "process" for the process itself.
int64_t resource_instance(const std::string& kind);

/// The kinds of resources of this machine, and whether the process is restricted to one instance.
struct ResourceKind {
  const char* name;
  bool restricted;
};
std::vector<ResourceKind> resource_kinds();

/// The kinds from the largest to the smallest, for MPI_COMM_TYPE_HW_UNGUIDED.
const std::vector<std::string>& resource_levels();

}  // namespace fgmpi::comm
