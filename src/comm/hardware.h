// Where this process runs, as MPI_Comm_split_type sees it: the host, and the objects of the machine
// (hwloc) that the process is bound to. Collocated ranks share their process's place.
// Thread rule: one thread; hwloc is loaded with the first question. Nothing here switches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fgmpi::comm {

/// 62 bits of which host this is; equal for processes between which shared memory works.
uint64_t host_number();

/// Which instance of a kind of resource on its host the process is restricted to: its number, -1
/// when it is not restricted to one, -2 when there is no such kind. Kinds: hwloc's names
/// ("Package", "NUMANode", "L3Cache", "Core", ...), without regard to case, also
/// "hwloc://NUMANode"; and "process" for the process itself.
int64_t resource_instance(const std::string& kind);

/// Kinds from the largest to the smallest, for MPI_COMM_TYPE_HW_UNGUIDED.
const std::vector<std::string>& resource_levels();

}  // namespace fgmpi::comm
