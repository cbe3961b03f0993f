// The machine's objects (packages, NUMA nodes, caches, cores) and the processing units on which
// this process may run: as hwloc describes them, or, in a build without it, as files of the kernel
// do (/sys).
//
// Processing units have the numbers that the kernel gives them. Thread rule: one thread; the
// machine is examined by the first question. Nothing here switches.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fgmpi::transport {

/// Ascending numbers of processing units.
using ProcessingUnits = std::vector<int>;

/// The processing units on which this process may run; empty where they are not known.
ProcessingUnits own_processing_units();
/// All processing units of the machine; empty where they are not known.
const ProcessingUnits& all_processing_units();

/// The objects of a kind, each by its processing units, in the order of the machine. nullopt where
/// the machine has no such kind, or it is not known here. Kinds have hwloc's names ("Package",
/// "NUMANode", "L3Cache", "Core", "PU"), in any case; without hwloc these, other caches and
/// "Machine" are known.
std::optional<std::vector<ProcessingUnits>> objects_of_machine(const std::string& kind);

}  // namespace fgmpi::transport
