// Parses PMI_process_mapping, in which the launcher publishes the node of each process.
#pragma once

#include <string_view>
#include <vector>

namespace fgmpi::bootstrap {

/// Parses PMI_process_mapping, "(vector,(first node, nodes, processes on each),...)". Processes are
/// dealt out block by block, and again from the first block when there are more. Returns the node
/// of each of `size` processes; empty when the text cannot be parsed (the mapping is then unknown).
std::vector<int> parse_process_mapping(std::string_view text, int size);

}  // namespace fgmpi::bootstrap
