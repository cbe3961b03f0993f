// The parser of the launcher's mapping from processes to nodes.

#include "bootstrap/process_mapping.h"

#include <array>
#include <charconv>
#include <cstdint>

namespace fgmpi::bootstrap {
namespace {

bool parse_token(std::string_view* text, std::string_view token) {
  if (!text->starts_with(token)) return false;
  text->remove_prefix(token.size());
  return true;
}

bool parse_number(std::string_view* text, int* value) {
  auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), *value);
  if (failure != std::errc() || *value < 0) return false;
  text->remove_prefix(end - text->data());
  return true;
}

struct NodeBlock {
  int first_node, nodes, processes;
};

bool parse_block(std::string_view* text, NodeBlock* b) {
  return parse_token(text, "(") && parse_number(text, &b->first_node) && parse_token(text, ",") &&
         parse_number(text, &b->nodes) && parse_token(text, ",") &&
         parse_number(text, &b->processes) && parse_token(text, ")");
}

}  // namespace

std::vector<int> parse_process_mapping(std::string_view text, int size) {
  std::vector<NodeBlock> blocks;
  if (!parse_token(&text, "(vector")) return {};
  while (parse_token(&text, ",")) {
    NodeBlock block;
    if (!parse_block(&text, &block) || block.nodes == 0 || block.processes == 0) return {};
    // The block's last node would have no number.
    if (block.first_node > INT32_MAX - block.nodes) return {};
    blocks.push_back(block);
  }
  if (text != ")" || blocks.empty() || size < 0) return {};
  std::vector<int> node_of;
  node_of.reserve(size);
  for (size_t b = 0;; b = (b + 1) % blocks.size())
    for (int node = 0; node < blocks[b].nodes; ++node)
      for (int i = 0; i < blocks[b].processes; ++i) {
        if (node_of.size() == static_cast<size_t>(size)) return node_of;
        node_of.push_back(blocks[b].first_node + node);
      }
}

}  // namespace fgmpi::bootstrap
