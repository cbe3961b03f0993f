// Parser of PMI_process_mapping, in which the launcher publishes which process runs on which node.
#pragma once

#include <string_view>
#include <vector>

namespace fgmpi::bootstrap {

/// Parses PMI_process_mapping, "(vector,(first node, nodes, processes on each),...)": processes are
/// dealt out block by block, and from the first block again when there are more. Returns the node
/// of each of `size` processes; empty when the text is not understood (the mapping is then
/// unknown).
std::vector<int> parse_process_mapping(std::string_view text, int size);

}  // namespace fgmpi::bootstrap
